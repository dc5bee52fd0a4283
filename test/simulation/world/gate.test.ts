import { expect, it } from "vitest";
import { Gate } from "./gate.js";
import { VirtualTime } from "./virtual-time.js";

it("stays shut until everything that has shut it has opened it again, and lets in what waits in order", async () => {
  const time = new VirtualTime(() => new Promise(setImmediate));
  const gate = new Gate(time);
  const entered: string[] = [];
  gate.shut();
  gate.shut();
  gate.pass(() => entered.push("message"));
  gate.passDue(() => entered.push("timer"));
  gate.open();
  expect(gate.isShut).toBe(true);
  await time.pass(1_000);
  expect(entered).toEqual([]);
  gate.open();
  await time.pass(2_000);
  expect(entered).toEqual(["timer", "message"]);
});
