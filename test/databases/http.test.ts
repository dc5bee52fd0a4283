import { createServer, type Server } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { deposit, fencedServer } from "../../examples/fencing/http.js";
import { httpCounter } from "../../examples/fencing/test/http-counter.js";
import type { DatabaseServer } from "../support/servers/database-process.js";
import { describeDeposits } from "./deposits.js";
import { describeGuard } from "./guard-promises.js";
import { listening } from "./listening.js";
import { describeStoppedProcess } from "./stopped-process.js";
import { testedStore } from "./stores.js";

const store = testedStore({ start: () => listening(fencedServer()), open: httpCounter });
let unchecked: DatabaseServer | undefined;
beforeAll(async () => {
  unchecked = await listening(uncheckedServer());
});
afterAll(() => unchecked?.stop());

describeGuard(store);
describeDeposits(() => {
  const url = `http://127.0.0.1:${store.port}/account`;
  return {
    deposit: (lock, cents) => deposit(lock, url, cents),
    balance: async () => Number(await (await fetch(url)).text()),
  };
});
describeStoppedProcess({
  store: "http",
  port: () => store.port,
  counter: store.counter,
  guarded: [{ way: "in steps", refusals: ["StaleTokenError"] }],
  uncheckedPort: () => unchecked?.port ?? 0,
});

describe("a service", () => {
  const put = (url: string, headers: Record<string, string>) =>
    fetch(url, { method: "PUT", body: "5", headers }).then(({ status }) => status);

  test("answers 412 to a token that is too old, and 428 to a write without one or with none that it can read", async () => {
    const url = `http://127.0.0.1:${store.port}/${store.freshName()}`;
    expect(await put(url, { "Fencing-Token": "12" })).toBe(200);
    expect(await put(url, { "fencing-token": "11" })).toBe(412);
    for (const token of ["", "-1", "1e3", "0x10", "13, 14"]) {
      expect([token, await put(url, { "Fencing-Token": token })]).toEqual([token, 428]);
    }
    expect(await put(url, {})).toBe(428);
    expect(await (await fetch(url)).text()).toBe("5");
  });

  test("raises the fence by no read that has no token", async () => {
    const url = `http://127.0.0.1:${store.port}/${store.freshName()}`;
    await fetch(url);
    expect(await put(url, { "Fencing-Token": "0" })).toBe(200);
  });
});

/** What most services do. */
function uncheckedServer(): Server {
  const stored = new Map<string, string>();
  return createServer((request, response) => {
    void text(request).then((body) => {
      if (request.method === "PUT") stored.set(request.url ?? "", body);
      response.end(stored.get(request.url ?? ""));
    });
  });
}
