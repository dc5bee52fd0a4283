import { afterEach, describe, expect, test } from "vitest";
import { gate } from "../support/run/gate.js";
import { seededRandom } from "../support/run/seeded-random.js";
import { until } from "../support/run/until.js";
import { backends, openedFor } from "../support/servers/backends.js";
import { PERMITS_CHANNEL } from "../support/worlds/permits.js";

/** So long that a waiter which had to help itself would outlast its test. */
const NEVER_MS = 10 * 60_000;
const MOST_PERMITS = 2 ** 31 - 1;

describe.each(backends)("acquiring permits on $name", (backend) => {
  const server = openedFor(backend);
  afterEach(() => server().raw("DEL", "s"));

  /** Only messages make its waiters ask again. */
  function semaphore() {
    return server().client({ safetyPeriodMs: NEVER_MS }).getSemaphore("s");
  }

  /** Of another client. */
  async function semaphoreOf(permits: number) {
    const own = semaphore();
    await own.trySetPermits(permits);
    return own;
  }

  /** Somebody waits, and listens. */
  async function somebodyListens(): Promise<void> {
    await until(async () => Number(await server().raw("PUBLISH", PERMITS_CHANNEL, "0")) > 0);
  }

  describe("acquire and tryAcquire", () => {
    test("without a wait takes what is there, or nothing", async () => {
      const ours = await semaphoreOf(3);
      expect(await ours.tryAcquire(2)).toBe(true);
      expect(await ours.tryAcquire(2)).toBe(false);
      expect(await ours.tryAcquire(2, { waitMs: 0 })).toBe(false);
      expect(await ours.tryAcquire({})).toBe(true);
      expect(await ours.tryAcquire()).toBe(false);
    });

    test("needs a semaphore", async () => {
      expect(await semaphore().tryAcquire()).toBe(false);
      expect(await server().raw("EXISTS", "s")).toBe(0);
    });

    test("waits as long as it may, and says so", async () => {
      const ours = await semaphoreOf(1);
      expect(await ours.tryAcquire(2, { waitMs: 20 })).toBe(false);
      await expect(ours.acquire(2, { waitMs: 20 })).rejects.toMatchObject({
        code: "ERR_HOLDFAST_WAIT_TIMEOUT",
        waitedMs: expect.closeTo(20, -3),
        message: expect.stringContaining('"s"'),
      });
      const late = ours.using(2, { waitMs: 20 }, () => "never");
      await expect(late).rejects.toMatchObject({ code: "ERR_HOLDFAST_WAIT_TIMEOUT" });
      expect(await ours.availablePermits()).toBe(1);
    });

    test("takes its options in place of the permits", async () => {
      const ours = await semaphoreOf(2);
      await ours.acquire({ waitMs: 1_000 });
      expect(await ours.using({ waitMs: 1_000 }, () => ours.availablePermits())).toBe(0);
      expect(await ours.availablePermits()).toBe(1);
    });

    test("of one permit waits until one is released", async () => {
      const ours = await semaphoreOf(1);
      await ours.acquire();
      const theirs = semaphore().acquire();
      await somebodyListens();
      await ours.release();
      await theirs;
      expect(await ours.availablePermits()).toBe(0);
    });

    test("of several waits until the sum suffices [B28]", async () => {
      const ours = await semaphoreOf(1);
      let acquired = false;
      const theirs = semaphore()
        .acquire(4)
        .then(() => {
          acquired = true;
        });
      await somebodyListens();
      await ours.release();
      await ours.release();
      expect(await ours.availablePermits()).toBe(3);
      expect(acquired).toBe(false);
      await ours.release();
      await theirs;
      expect(await ours.availablePermits()).toBe(0);
    });

    test.each<[string, (own: ReturnType<typeof semaphore>) => Promise<unknown>]>([
      ["released", (own) => own.release(2)],
      ["released by releaseIfExists", (own) => own.releaseIfExists(2)],
      ["added [B26]", (own) => own.addPermits(2)],
      ["set anew", async (own) => (await own.delete()) && own.trySetPermits(2)],
    ])("ends a wait when permits are %s", async (_, give) => {
      const ours = await semaphoreOf(0);
      const theirs = semaphore().acquire(2);
      await somebodyListens();
      await give(ours);
      await theirs;
      expect(await ours.availablePermits()).toBe(0);
    });

    test("lets each of two clients have all permits in turn, and one of a part [B28]", async () => {
      const ours = await semaphoreOf(2);
      const turn = async (permits: number) => {
        expect(await semaphore().tryAcquire(permits, { waitMs: 10_000 })).toBe(true);
        await ours.release(permits);
      };
      await Promise.all([turn(2), turn(2), turn(1), turn(2)]);
      expect(await ours.availablePermits()).toBe(2);
    });
  });

  describe("using", () => {
    test("has the permits while the body runs, brings what it brings, and gives them back", async () => {
      const ours = await semaphoreOf(3);
      expect(await ours.using(() => ours.availablePermits())).toBe(2);
      expect(await ours.using(2, async () => ours.availablePermits())).toBe(1);
      expect(await ours.using(3, { waitMs: 10 }, () => ours.availablePermits())).toBe(0);
      expect(await ours.availablePermits()).toBe(3);
    });

    test("gives them back when the body throws or rejects", async () => {
      const ours = await semaphoreOf(2);
      const broken = new Error("broken");
      const bodies = [
        () => {
          throw broken;
        },
        () => Promise.reject(broken),
      ];
      for (const body of bodies) await expect(ours.using(2, body)).rejects.toBe(broken);
      expect(await ours.availablePermits()).toBe(2);
    });

    test("does not run the body without permits", async () => {
      const ours = await semaphoreOf(0);
      let ran = false;
      const body = () => {
        ran = true;
      };
      await expect(ours.using({ waitMs: 5 }, body)).rejects.toMatchObject({
        code: "ERR_HOLDFAST_WAIT_TIMEOUT",
      });
      await expect(ours.using({ signal: AbortSignal.abort("gone") }, body)).rejects.toBe("gone");
      expect(ran).toBe(false);
    });

    test("gives them back when the signal is aborted while the body runs, and not before that has ended", async () => {
      const ours = await semaphoreOf(1);
      const leaving = new AbortController();
      const [inside, over] = [gate(), gate()];
      const call = ours.using({ signal: leaving.signal }, () => {
        inside.open();
        return over.opened;
      });
      await inside.opened;
      leaving.abort("gone");
      expect(await ours.availablePermits()).toBe(0);
      over.open();
      await call;
      expect(await ours.availablePermits()).toBe(1);
    });
  });

  test("never lets more in than it has permits, uses all of them, and has them all again", async () => {
    const random = seededRandom();
    const [PERMITS, CLIENTS] = [5, 4];
    const clients = Array.from({ length: CLIENTS }, () => semaphore());
    await clients[0]?.trySetPermits(PERMITS);
    let [inside, most] = [0, 0];
    const visit = async (client: number) => {
      const permits = 1 + random.below(3);
      await clients[client]?.using(permits, async () => {
        inside += permits;
        most = Math.max(most, inside);
        for (let i = random.below(4); i > 0; i--) await new Promise(setImmediate);
        inside -= permits;
      });
    };
    const task = async (client: number) => {
      for (let i = 0; i < 5; i++) await visit(client);
    };
    await Promise.all(Array.from({ length: 24 }, (_, i) => task(i % CLIENTS)));
    expect([inside, most]).toEqual([0, PERMITS]);
    expect(await server().raw("GET", "s")).toBe(String(PERMITS));
  });

  test("can be passed through as a whole by one after the other", async () => {
    await semaphoreOf(MOST_PERMITS);
    let inside = 0;
    const visits = Array.from({ length: 8 }, () =>
      semaphore().using(MOST_PERMITS, async () => {
        inside += 1;
        expect(inside).toBe(1);
        await new Promise(setImmediate);
        inside -= 1;
      }),
    );
    await Promise.all(visits);
    expect(await server().raw("GET", "s")).toBe(String(MOST_PERMITS));
  });
});
