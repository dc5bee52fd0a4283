import { afterEach, describe, expect, test } from "vitest";
import { Holdfast } from "../../src/holdfast.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/memory/index.js";
import { DistantDriver } from "../support/drivers/distant-driver.js";
import { RivalTasks } from "../support/worlds/rival-clients.js";

const KEY = "order:7";
const CHANNEL = "redisson_lock__channel:{order:7}";
const TASKS = 8;
const HOLD_MS = 5;
/** The default. */
const MAX_MS = 100;
const LONG_MS = 10_000;
/** Those of a client that is alone, each of which holds the lock for so long. */
const ALONE = LONG_MS / HOLD_MS;
/** A yield that none uses is so long at least, and follows each turn. */
const SHORTEST_YIELD_MS = 5;
const BESIDE_OTHERS = (ALONE * MAX_MS) / (MAX_MS + SHORTEST_YIELD_MS);

/** One client whose tasks hand a lock on, beside a server to which others may have a longer way. */
class Scene {
  readonly clock = new FakeClock();
  readonly server = new MemoryServer({ clock: this.clock });
  readonly tasks = new RivalTasks(this.clock);
  readonly #visits: (readonly number[])[] = [];
  readonly #clients: Holdfast[] = [];
  readonly #near = this.connect();

  connect(oneWayMs = 0): Holdfast {
    const inner = memoryDriver(this.server);
    const driver = oneWayMs === 0 ? inner : new DistantDriver(inner, this.clock, oneWayMs);
    const holdfast = new Holdfast(driver, { clock: this.clock });
    this.#clients.push(holdfast);
    return holdfast;
  }

  busy(key = KEY): void {
    for (let task = 0; task < TASKS; task += 1) {
      this.#visits.push(this.tasks.visits(this.#near, key, HOLD_MS));
    }
  }

  /** How often the near client was in so far. */
  get acquired(): number {
    return this.#visits.reduce((sum, { length }) => sum + length, 0);
  }

  /** Listens, and wants nothing. */
  listener(): () => void {
    return this.server.subscribe(CHANNEL, () => undefined);
  }

  async end(): Promise<void> {
    const stopped = this.tasks.stop();
    await this.clock.advance(2 * LONG_MS);
    await stopped;
    const closed = Promise.all(this.#clients.map((client) => client.close()));
    await this.clock.advance(2 * LONG_MS);
    await closed;
    expect({ keys: Object.keys(this.server.dump()), timers: this.clock.pendingTimers }).toEqual({
      keys: [],
      timers: 0,
    });
  }
}

const scenes: Scene[] = [];

function scene(): Scene {
  const opened = new Scene();
  scenes.push(opened);
  return opened;
}

afterEach(async () => {
  for (const opened of scenes.splice(0)) await opened.end();
});

describe("a waiter whose way to the server takes longer than that of a client that hands the lock on", () => {
  test.each([10, 30, 100].flatMap((oneWayMs) => [0, 200, 1_000].map((pauseMs) => ({ oneWayMs, pauseMs }))))(
    "of $oneWayMs ms, and comes again after $pauseMs ms, is in after two seconds at first, and then after a turn of the others [own-12]",
    async ({ oneWayMs, pauseMs }) => {
      const here = scene();
      here.busy();
      const waits = here.tasks.visits(here.connect(oneWayMs), KEY, HOLD_MS, pauseMs);
      await here.clock.advance(LONG_MS);
      const [first = Number.POSITIVE_INFINITY, ...later] = waits;
      expect(first).toBeLessThanOrEqual(2_000);
      expect(later.length).toBeGreaterThan(4);
      expect(Math.max(...later)).toBeLessThanOrEqual(MAX_MS + 6 * oneWayMs + HOLD_MS);
    },
  );

  test("is in as soon for another lock, of which the client has no experience yet", async () => {
    const here = scene();
    const far = here.connect(100);
    here.busy();
    here.tasks.visits(far, KEY, HOLD_MS);
    await here.clock.advance(2_000);
    here.busy("other");
    await here.clock.advance(1_000);
    const waits = here.tasks.visits(far, "other", HOLD_MS);
    // Ways: of two questions and a subscription until it stands in the queue, of the message, and of the last question.
    await here.clock.advance(MAX_MS + 8 * 100 + HOLD_MS);
    expect(waits.length).toBeGreaterThan(0);
  });

  test("is in after two seconds although many have listened in vain for long", async () => {
    const here = scene();
    for (let listeners = 0; listeners < 3; listeners += 1) here.listener();
    here.busy();
    await here.clock.advance(LONG_MS);
    const waits = here.tasks.visits(here.connect(100), KEY, HOLD_MS);
    await here.clock.advance(2_000);
    expect(waits.length).toBeGreaterThan(0);
  });

  test.each([10, 30, 100])(
    "of %i ms is in although it is a JVM's, which asks once for each message [own-12]",
    async (oneWayMs) => {
      const here = scene();
      const { clock, server } = here;
      let enteredMs: number | undefined;
      const ask = () => {
        if (enteredMs !== undefined || server.command("EXISTS", KEY) === 1) return;
        server.command("HSET", KEY, "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:57", 1);
        server.command("PEXPIRE", KEY, 30_000);
        enteredMs = clock.monotonicMs();
      };
      here.busy();
      await clock.advance(LONG_MS);
      const askedMs = clock.monotonicMs();
      // The message comes one way, and the question goes the other.
      const leave = server.subscribe(CHANNEL, () => void clock.schedule(2 * oneWayMs, ask));
      await clock.advance(2_000);
      expect((enteredMs ?? Number.POSITIVE_INFINITY) - askedMs).toBeLessThan(2_000);
      leave();
      server.command("DEL", KEY);
      server.command("PUBLISH", CHANNEL, "0");
    },
  );
});

describe("a client that hands a lock on", () => {
  test("acquires it as often as ever where none listens", async () => {
    const here = scene();
    here.busy();
    await here.clock.advance(LONG_MS);
    expect(here.acquired).toBeGreaterThanOrEqual(ALONE);
  });

  test.each([1, 3, 20])(
    "acquires it nearly as often beside %i who only listen [own-12]",
    async (listeners) => {
      const here = scene();
      for (let at = 0; at < listeners; at += 1) here.listener();
      here.busy();
      await here.clock.advance(LONG_MS);
      expect(here.acquired).toBeGreaterThan(0.85 * BESIDE_OTHERS);
    },
  );

  test.each([10, 30, 100])(
    "acquires it nearly as often beside one that is %i ms away and has been in, while that one's subscription lingers [own-12]",
    async (oneWayMs) => {
      const here = scene();
      here.busy();
      const visitor = here.connect(oneWayMs).getLock(KEY).lock();
      await here.clock.advance(2_000);
      const left = visitor.then((lease) => lease.unlock());
      await here.clock.advance(1_000);
      await left;
      const before = here.acquired;
      await here.clock.advance(LONG_MS);
      expect(here.acquired - before).toBeGreaterThan(0.85 * BESIDE_OTHERS);
    },
  );

  test("yields no longer than it did to those who are near", async () => {
    const here = scene();
    here.busy();
    const waits = here.tasks.visits(here.connect(1), KEY, HOLD_MS, 1_000);
    await here.clock.advance(LONG_MS);
    expect(waits.length).toBeGreaterThan(8);
    expect(here.acquired).toBeGreaterThan(0.99 * BESIDE_OTHERS);
  });
});
