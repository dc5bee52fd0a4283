import { describe, expect, test } from "vitest";
import { ServerReplyError } from "../../src/driver/driver.js";
import type { RawReply } from "../../src/protocol/script-call.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import { answerWith } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

/** Its first four releases are sent again on a new connection, and their first copies wait until they are let go. */
function spentAtOnce() {
  const time = open({ commandTimeoutMs: 700 });
  const slow: CallFault = {
    name: "answered late",
    async meet(deliver) {
      const answer = await deliver();
      await new Promise<void>((resolve) => void time.clock.schedule(600, resolve));
      return answer;
    },
  };
  const copies: (() => Promise<RawReply>)[] = [];
  const resent: CallFault = {
    name: "sent again",
    meet(deliver, driver) {
      copies.push(deliver);
      driver.reset();
      return deliver();
    },
  };
  void time.driver.next(slow, "lock-acquire");
  for (let i = 0; i < 4; i += 1) void time.driver.next(resent, "lock-release");
  const waiting = watched(time.holdfast.getLock("a").lock({ leaseMs: 500 }));
  return { ...time, copies, waiting };
}

describe("a call whose lock came too late to be of use, and was given back again and again", () => {
  test("asks for it again only when no copy of that can come [own-54]", async () => {
    const time = spentAtOnce();
    await time.clock.advance(2_700);
    await Promise.all(time.copies.map((copy) => copy()));
    await time.clock.advance(1_000);
    expect(Object.values(time.fields("a"))).toEqual(["1"]);
    expect(time.waiting.outcome).toMatchObject({ value: { state: "held" } });
  });

  test("fails when the server does not do so [own-54]", async () => {
    const time = spentAtOnce();
    for (let i = 0; i < 2; i += 1)
      void time.driver.next(answerWith(new ServerReplyError("OOM")), "lock-release");
    await time.clock.advance(2_700);
    await Promise.all(time.copies.map((copy) => copy()));
    expect(time.waiting.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_UNAVAILABLE" } });
  });
});
