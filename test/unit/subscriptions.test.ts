import { describe, expect, test } from "vitest";
import type { ChannelListener, Driver, Unsubscribe } from "../../src/driver/driver.js";
import { events } from "../../src/events.js";
import type { Listener } from "../../src/runtime/subscriptions.js";
import { plainSubscriptions } from "../support/clients/plain-subscriptions.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { CountingClock } from "../support/worlds/counting-clock.js";

endRecordings();

const LINGER_MS = 10_000;
const TICK_MS = 100;
const TIMEOUT_MS = 3_000;

/** One SUBSCRIBE, which the test answers. */
interface Asked {
  readonly channel: string;
  readonly listener: ChannelListener;
  ended: boolean;
  succeed(): Promise<void>;
  fail(error: Error): Promise<void>;
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A driver whose subscriptions succeed and fail when the test says so. */
class AskedDriver implements Driver {
  readonly traits = { server: "asked", topology: "memory" } as const;
  readonly resets = 0;
  readonly asked: Asked[] = [];

  run(): Promise<never> {
    return Promise.reject(new Error("nothing is run"));
  }

  subscribe(channel: string, listener: ChannelListener): Promise<Unsubscribe> {
    return new Promise((resolve, reject) => {
      const asked: Asked = {
        channel,
        listener,
        ended: false,
        succeed: () => {
          listener.onReady();
          resolve(async () => {
            asked.ended = true;
            throw new Error("the connection is gone");
          });
          return settled();
        },
        fail: (error) => {
          reject(error);
          return settled();
        },
      };
      this.asked.push(asked);
    });
  }

  async close(): Promise<void> {
    // Nothing is open.
  }
}

/** A listener that writes down what it hears. */
function hearing(): Listener & { readonly heard: string[] } {
  const heard: string[] = [];
  return {
    heard,
    onMessage: (message) => void heard.push(message),
    onReady: () => void heard.push("ready"),
    onFailure: () => void heard.push("failed"),
  };
}

function setUp() {
  const clock = new CountingClock();
  const driver = new AskedDriver();
  const subscriptions = plainSubscriptions(driver, clock, TIMEOUT_MS);
  const asked = (at: number): Asked => {
    const found = driver.asked[at];
    if (found === undefined) throw new Error(`there was no subscription number ${at}`);
    return found;
  };
  return { clock, driver, subscriptions, asked };
}

describe("a subscription", () => {
  test("is one for each channel, however many listen, and all of them hear all", async () => {
    const { subscriptions, driver, asked } = setUp();
    const [first, second, other] = [hearing(), hearing(), hearing()];
    subscriptions.listen("a", first);
    subscriptions.listen("a", second);
    subscriptions.listen("b", other);
    expect(driver.asked.map(({ channel }) => channel)).toEqual(["a", "b"]);
    await asked(0).succeed();
    asked(0).listener.onMessage("0");
    expect([first.heard, second.heard, other.heard]).toEqual([["ready", "0"], ["ready", "0"], []]);
  });

  test("is open once messages arrive, and tells each time that they begin to again", async () => {
    const { subscriptions, asked } = setUp();
    const listener = hearing();
    expect(subscriptions.isOpen("a")).toBe(false);
    subscriptions.listen("a", listener);
    expect(subscriptions.isOpen("a")).toBe(false);
    await asked(0).succeed();
    expect(subscriptions.isOpen("a")).toBe(true);
    asked(0).listener.onReady();
    expect(listener.heard).toEqual(["ready", "ready"]);
  });

  test("is heard by nobody who has left, and one who leaves twice leaves once [B7]", async () => {
    const { subscriptions, clock, asked } = setUp();
    const [leaver, stayer] = [hearing(), hearing()];
    const leave = subscriptions.listen("a", leaver);
    subscriptions.listen("a", stayer);
    await asked(0).succeed();
    leave();
    leave();
    await clock.advance(LINGER_MS + TICK_MS);
    asked(0).listener.onMessage("0");
    expect(asked(0).ended).toBe(false);
    expect([leaver.heard, stayer.heard]).toEqual([["ready"], ["ready", "0"]]);
  });

  test("is kept for ten seconds after the last has left, then ended, and asked for anew", async () => {
    const { subscriptions, clock, driver, asked } = setUp();
    const leave = subscriptions.listen("a", hearing());
    await asked(0).succeed();
    leave();
    await clock.advance(LINGER_MS - TICK_MS);
    expect([asked(0).ended, subscriptions.isOpen("a")]).toEqual([false, true]);
    await clock.advance(2 * TICK_MS);
    expect([asked(0).ended, subscriptions.isOpen("a")]).toEqual([true, false]);
    subscriptions.listen("a", hearing());
    expect(driver.asked).toHaveLength(2);
  });

  test("is not asked for anew by whoever comes within these ten seconds", async () => {
    const { subscriptions, clock, driver, asked } = setUp();
    const leave = subscriptions.listen("a", hearing());
    await asked(0).succeed();
    for (let i = 0; i < 5; i++) {
      leave();
      await clock.advance(LINGER_MS / 2);
      subscriptions.listen("a", hearing())();
    }
    await clock.advance(LINGER_MS / 2);
    expect([driver.asked.length, asked(0).ended]).toEqual([1, false]);
  });

  test("leaves no timer behind when it is ended", async () => {
    const { subscriptions, clock, asked } = setUp();
    const leave = subscriptions.listen("a", hearing());
    await asked(0).succeed();
    leave();
    await clock.advance(LINGER_MS + TICK_MS);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe("a subscription that fails", () => {
  const refused = new Error("too many channels");

  test("is told to all who listen, once, and by an event, and poisons nothing [B8]", async () => {
    const { subscriptions, driver, asked } = setUp();
    const failures = recorded(events.subscriptionFailed);
    const [first, second] = [hearing(), hearing()];
    const leave = subscriptions.listen("a", first);
    subscriptions.listen("a", second);
    await asked(0).fail(refused);
    expect([first.heard, second.heard]).toEqual([["failed"], ["failed"]]);
    expect(failures).toEqual([{ clientId: "client", server: "asked", channel: "a", error: refused }]);
    leave();
    subscriptions.listen("a", first);
    expect(driver.asked).toHaveLength(2);
    await asked(1).succeed();
    asked(1).listener.onMessage("0");
    expect(first.heard).toEqual(["failed", "ready", "0"]);
  });

  test("may be asked for again by a listener that is just being told", async () => {
    const { subscriptions, driver, asked } = setUp();
    const listener = hearing();
    const stubborn: Listener = {
      onMessage: listener.onMessage,
      onReady: listener.onReady,
      onFailure: () => void subscriptions.listen("a", listener),
    };
    subscriptions.listen("a", stubborn);
    await asked(0).fail(refused);
    expect(driver.asked).toHaveLength(2);
    await asked(1).succeed();
    expect(listener.heard).toEqual(["ready"]);
  });

  test("because nobody answers is given up after the timeout, and ended if it succeeds later", async () => {
    const { subscriptions, clock, asked } = setUp();
    const listener = hearing();
    subscriptions.listen("a", listener);
    await clock.advance(TIMEOUT_MS - TICK_MS);
    expect(listener.heard).toEqual([]);
    await clock.advance(2 * TICK_MS);
    expect(listener.heard).toEqual(["failed"]);
    await asked(0).succeed();
    expect([asked(0).ended, listener.heard, subscriptions.isOpen("a")]).toEqual([true, ["failed"], false]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("after its last listener has left leaves nothing behind", async () => {
    const { subscriptions, clock, asked, driver } = setUp();
    const listener = hearing();
    subscriptions.listen("a", listener)();
    await asked(0).fail(refused);
    await clock.advance(LINGER_MS + TICK_MS);
    expect([listener.heard, clock.pendingTimers]).toEqual([[], 0]);
    subscriptions.listen("a", listener);
    expect(driver.asked).toHaveLength(2);
  });
});

describe("when all is stopped", () => {
  test("nothing is told to anybody, and leaving is harmless", async () => {
    const { subscriptions, clock, asked } = setUp();
    const [listener, waiting] = [hearing(), hearing()];
    const leave = [subscriptions.listen("a", listener), subscriptions.listen("b", waiting)];
    await asked(0).succeed();
    subscriptions.stop();
    subscriptions.stop();
    await asked(1).fail(new Error("closed"));
    for (const go of leave) go();
    await clock.advance(LINGER_MS + TICK_MS);
    expect([listener.heard, waiting.heard, clock.pendingTimers]).toEqual([["ready"], [], 0]);
  });

  test("a subscription that is answered afterwards is ended", async () => {
    const { subscriptions, asked } = setUp();
    subscriptions.listen("a", hearing());
    subscriptions.stop();
    await asked(0).succeed();
    expect(asked(0).ended).toBe(true);
  });
});
