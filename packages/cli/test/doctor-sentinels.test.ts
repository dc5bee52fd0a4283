import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask } from "../../../test/support/servers/ask.js";
import { startSentinels, type WatchedRedis } from "../../../test/support/servers/sentinels.js";
import { diagnose } from "./support/diagnosis.js";

let watched: WatchedRedis;
beforeAll(async () => {
  watched = await startSentinels();
});
afterAll(() => watched.stop());

function url(): string {
  const places = watched.sentinels.map(({ host, port }) => `${host}:${port}`).join(",");
  return `redis+sentinel://${places}/${watched.name}`;
}

async function set(name: string, value: number): Promise<void> {
  await Promise.all(
    watched.watchers.map((watcher) => ask(watcher, "SENTINEL", "SET", watched.name, name, value)),
  );
}

describe("doctor, with Sentinels,", () => {
  test("finds that they are well", async () => {
    const { of } = await diagnose(url());
    expect(of("sentinel")).toMatch(
      /^ok: 3 Sentinels, a quorum of 2, the master 127\.0\.0\.1:\d+ counts as lost after \d+ ms$/,
    );
    expect(of("topology")).toBe("ok: a master that Sentinels watch");
    expect(of("replicas")).toContain("warn: 1 replica, min-replicas-to-write is 0");
  });

  test("finds a quorum of one, and a master that is replaced too late", async () => {
    await set("quorum", 1);
    await set("down-after-milliseconds", 15_000);
    const { of } = await diagnose(url());
    await set("quorum", 2);
    expect(of("sentinel")).toContain("warn: the quorum is 1");
    expect(of("sentinel")).toContain(
      "warn: down-after-milliseconds is 15000, over a third of the watchdog's 30000 ms",
    );
    expect((await diagnose(url(), ["--watchdog", "60s"])).of("sentinel")).toContain("ok: 3 Sentinels");
  });

  test("finds that too few of them are left", async () => {
    await set("down-after-milliseconds", 1_000);
    const [, second, third] = watched.watchers;
    await Promise.all([second?.kill(), third?.kill()]);
    const [first] = watched.watchers;
    if (first === undefined) throw new Error("there is a first Sentinel");
    await expect
      .poll(() => ask(first, "SENTINEL", "CKQUORUM", watched.name).catch(String), { timeout: 30_000 })
      .toContain("NOQUORUM");
    const { of } = await diagnose(url());
    expect(of("sentinel")).toContain(`warn: no answer of 127.0.0.1:${second?.port} (`);
    expect(of("sentinel")).toContain("NOQUORUM");
  });
});
