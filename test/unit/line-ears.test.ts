import { expect, test } from "vitest";
import { FakeClock } from "../../src/memory/index.js";
import { LineEars } from "../../src/runtime/line-ears.js";
import type { Listener } from "../../src/runtime/subscriptions.js";

const [ALL, OWN] = ["redisson_lock__channel:{a}", "redisson_lock__channel:{a}:me"];

test("a client of a queue that is to hear what all hear tries that again where it has failed, although its own channel is open [own-119]", async () => {
  const clock = new FakeClock();
  const asked: string[] = [];
  const listeners = new Map<string, Listener>();
  const subscriptions = {
    isOpen: () => true,
    listen(channel: string, listener: Listener) {
      asked.push(channel);
      listeners.set(channel, listener);
      return () => undefined;
    },
  };
  let failures = 0;
  const line = {
    heard: () => undefined,
    called: () => undefined,
    ready: () => undefined,
    failed: () => {
      failures += 1;
    },
  };
  const services = { clock, safetyPeriodMs: 3_600_000, subscriptions, waitedFor: new Map() };
  const ears = new LineEars({ id: ":a", channel: ALL } as never, OWN, services as never, line);
  ears.listen();
  ears.stands({ stands: true, waits: true, ahead: 0, isTold: false }, true);
  expect([asked, ears.listens]).toEqual([[OWN, ALL], true]);
  listeners.get(ALL)?.onFailure();
  expect([failures, ears.listens]).toEqual([1, false]);
  const againMs = ears.againMs - clock.monotonicMs();
  expect(againMs).toBeGreaterThan(0);
  expect(againMs).toBeLessThan(5_000);
  await clock.advance(againMs);
  ears.listen();
  expect([asked, ears.listens]).toEqual([[OWN, ALL, ALL], true]);
});
