import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, describe, expect, test } from "vitest";
import { ServerReplyError } from "../../src/driver/driver.js";
import { events, type LatchAwaitEvent } from "../../src/events.js";
import { answerWith } from "../support/faults/call-faults.js";
import { aboutOf, endRecordings, recorded, recordedEnds } from "../support/run/recorded-events.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";

const open = fakeTime();
endRecordings();
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

const L = { name: "l", kind: "count-down-latch" };

describe("holdfast:latch:await", () => {
  test("goes from start to asyncEnd with one context, in the async context of its caller", async () => {
    const time = open();
    const storage = new AsyncLocalStorage<string>();
    const said: [string, LatchAwaitEvent, string | undefined][] = [];
    const part = (name: string) => (event: LatchAwaitEvent) =>
      void said.push([name, { ...event }, storage.getStore()]);
    const handlers = {
      start: part("start"),
      end: part("end"),
      asyncStart: part("asyncStart"),
      asyncEnd: part("asyncEnd"),
      error: part("error"),
    };
    events.latchAwait.subscribe(handlers);
    ends.push(() => events.latchAwait.unsubscribe(handlers));
    time.server.command("SET", "l", 1);
    const call = storage.run("caller", () =>
      watched(time.holdfast.getCountDownLatch("l").await({ waitMs: 9_000 })),
    );
    await time.clock.advance(700);
    await time.connect().holdfast.getCountDownLatch("l").countDown();
    await time.clock.advance(0);
    expect(call.outcome).toEqual({ value: true });
    const begun = { ...aboutOf(time), ...L, waitMs: 9_000 };
    const ended = { ...begun, outcome: "opened", waitedMs: 700, via: "message" };
    expect(said).toEqual([
      ["start", begun, "caller"],
      ["end", begun, "caller"],
      ["asyncStart", ended, "caller"],
      ["asyncEnd", ended, "caller"],
    ]);
  });

  test("says how a call ended that did not see the latch open", async () => {
    const time = open();
    const { holdfast, driver, clock } = time;
    const latch = holdfast.getCountDownLatch("l");
    time.server.command("SET", "l", 1);
    const ended = recordedEnds(events.latchAwait);
    const contended = recorded(events.contended);
    expect(await latch.await({ waitMs: 0 })).toBe(false);
    const late = watched(latch.await({ waitMs: 50 }));
    await clock.advance(50);
    const leaving = new AbortController();
    const cancelled = watched(latch.await({ signal: leaving.signal }));
    await clock.advance(10);
    leaving.abort("gone");
    await clock.advance(0);
    void driver.next(answerWith(new ServerReplyError("NOAUTH")), "count-look");
    const failed = watched(latch.await());
    await clock.advance(0);
    expect(late.outcome).toEqual({ value: false });
    expect(cancelled.outcome).toEqual({ error: "gone" });
    const about = { ...aboutOf(time), ...L };
    const error =
      failed.outcome !== undefined && "error" in failed.outcome ? failed.outcome.error : undefined;
    expect(error).toBeInstanceOf(Error);
    expect(ended).toEqual([
      { ...about, waitMs: 0, outcome: "refused", waitedMs: 0 },
      { ...about, waitMs: 50, outcome: "timeout", waitedMs: 50 },
      { ...about, waitMs: Number.POSITIVE_INFINITY, outcome: "cancelled", waitedMs: 10, error: "gone" },
      { ...about, waitMs: Number.POSITIVE_INFINITY, outcome: "failed", waitedMs: 0, error },
    ]);
    expect(contended).toEqual([]);
    time.server.command("DEL", "l");
  });
});
