import { afterEach, describe, expect, test } from "vitest";
import { watched } from "../../../test/support/run/watched.js";
import { type FakeTime, fakeTime } from "../../../test/support/worlds/fake-time.js";
import { FOREIGN } from "../../../test/support/worlds/foreign-holder.js";
import { lookAt } from "../src/unlock/seen.js";
import { obstacleToStale, watchFall } from "../src/unlock/staleness.js";
import { GHOST, held, leaveGhost, OTHER_GHOST, removeGhosts, THIRD_GHOST } from "./support/ghosts.js";

const opened = fakeTime();
const times: FakeTime[] = [];
afterEach(() => {
  for (const time of times.splice(0)) {
    removeGhosts(time);
    time.server.command("DEL", "a");
  }
});

function open(): FakeTime {
  const time = opened();
  times.push(time);
  return time;
}

/** Why the lock "a" is not stale, and how long it took to know. @param during what happens after each second */
async function judged(time: FakeTime, during: (atMs: number) => void = () => undefined) {
  const { holdfast, clock } = time;
  const seen = await lookAt(holdfast, "a", "default");
  const obstacle = obstacleToStale(seen);
  if (obstacle !== undefined) return { obstacle, tookMs: 0 };
  const fromMs = clock.monotonicMs();
  const watching = watched(watchFall(holdfast, seen, { group: "default", clock }));
  while (watching.outcome === undefined) {
    await clock.advance(500);
    during(clock.monotonicMs() - fromMs);
  }
  if ("error" in watching.outcome) throw watching.outcome.error;
  return { obstacle: watching.outcome.value, tookMs: clock.monotonicMs() - fromMs };
}

describe("unlock --stale", () => {
  test("takes a lock for stale whose holder is gone, once its lease was seen to fall for 11 s", async () => {
    const time = open();
    held(time, [`${GHOST}:1`]);
    leaveGhost(time);
    const { obstacle, tookMs } = await judged(time);
    expect(obstacle).toBeUndefined();
    expect(tookMs).toBeGreaterThanOrEqual(11_000);
  });

  test.each([
    { kind: "a JVM", holder: FOREIGN, says: "JVM 3f0c…:57 has no presence, and may be running" },
    {
      kind: "one without presence",
      holder: `${OTHER_GHOST}:7`,
      says: "unknown 25c9…:7 is unknown: it has no presence, was closed, or is in another group",
    },
  ])("never takes $kind for gone, be it beside one that is", async ({ holder, says }) => {
    const time = open();
    held(time, [`${GHOST}:1`, holder]);
    leaveGhost(time);
    expect((await judged(time)).obstacle).toContain(says);
  });

  test("does not wait where the holder is there", async () => {
    const time = open();
    held(time, [`${GHOST}:1`]);
    leaveGhost(time, { silentMs: 500 });
    expect(await judged(time)).toEqual({
      obstacle: "jobs@pod-9 pid 1 is running: its last beat was 500 ms ago",
      tookMs: 0,
    });
  });

  test("leaves a lock without a TTL alone", async () => {
    const time = open();
    held(time, [`${GHOST}:1`], -1);
    leaveGhost(time);
    expect((await judged(time)).obstacle).toBe("its key has no TTL that could be watched");
  });

  test("leaves a lock alone that is renewed although presence has its holder gone [U2]", async () => {
    const time = open();
    held(time, [`${GHOST}:1`], 30_000);
    leaveGhost(time);
    const { obstacle, tookMs } = await judged(time, (atMs) => {
      if (atMs === 9_000) time.server.command("PEXPIRE", "a", 30_000);
    });
    expect(obstacle).toBe("its TTL was raised a moment ago: something renews it");
    expect(tookMs).toBeLessThan(11_000);
  });

  test("leaves a lock alone that another one takes meanwhile", async () => {
    const time = open();
    held(time, [`${GHOST}:1`]);
    leaveGhost(time);
    const { obstacle } = await judged(time, (atMs) => {
      if (atMs !== 5_000) return;
      time.server.command("DEL", "a");
      held(time, [FOREIGN]);
    });
    expect(obstacle).toBe("JVM 3f0c…:57 has it now");
  });

  test("takes nothing for stale when more than half of a group fell silent at once [U2]", async () => {
    const time = open();
    held(time, [`${GHOST}:1`]);
    leaveGhost(time);
    leaveGhost(time, { id: OTHER_GHOST, pid: 2 });
    leaveGhost(time, { id: THIRD_GHOST, pid: 3 });
    expect((await judged(time)).obstacle).toContain("presence itself has failed");
  });

  test("judges a fleet of three by the fall of the lease when two of them are gone [U8]", async () => {
    const time = open();
    held(time, [`${GHOST}:1`], 30_000);
    leaveGhost(time);
    leaveGhost(time, { id: OTHER_GHOST, pid: 2 });
    expect((await judged(time)).obstacle).toBeUndefined();
  });

  test("leaves a lock alone whose watchdog of a minute renews it, though its presence is cut off [U7]", async () => {
    const time = open();
    held(time, [`${GHOST}:1`], 59_000);
    leaveGhost(time);
    const { obstacle } = await judged(time, (atMs) => {
      if (atMs === 19_000) time.server.command("PEXPIRE", "a", 60_000);
    });
    expect(obstacle).toBe("its TTL was raised a moment ago: something renews it");
  });

  test("leaves a fixed lease alone, which falls whether its holder lives or not [U7]", async () => {
    const time = open();
    held(time, [`${GHOST}:1`], 30_000);
    leaveGhost(time, { holds: [["a", "lock", 1, 1, 1_000, 0]] });
    expect(await judged(time)).toMatchObject({
      obstacle: expect.stringContaining("has a fixed lease, which is never renewed"),
      tookMs: 0,
    });
  });
});
