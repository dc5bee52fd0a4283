import type { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import { diagnose } from "./support/diagnosis.js";
import { patients } from "./support/patients.js";

const patient = patients();

describe("doctor finds what a name has:", () => {
  test.each([
    {
      what: "a lock of redlock",
      make: (plain: Redis) => plain.set("x", "a1b2"),
      says: 'fail: "x" is of another type: string, as redlock and SET NX write it',
    },
    {
      what: "a set",
      make: (plain: Redis) => plain.sadd("x", "1"),
      says: 'fail: "x" is of another type: set',
    },
    {
      what: "a semaphore",
      make: (plain: Redis) => plain.set("x", "3"),
      says: 'warn: "x" is a string, 3: a semaphore or a latch',
    },
    {
      what: "another hash",
      make: (plain: Redis) => plain.hset("x", "name", "7"),
      says: 'fail: "x" is a hash that is not a lock',
    },
    {
      what: "a lock",
      make: (plain: Redis) => plain.hset("x", "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:57", "1"),
      says: 'ok: "x" is a lock, held without a TTL',
    },
  ])("$what", async ({ make, says }) => {
    const { server, plain } = await patient.start();
    await make(plain);
    expect((await diagnose(server.url, ["--name", "x"])).of("foreign")).toBe(says);
    expect(await plain.exists("x")).toBe(1);
  });
});

describe("doctor finds what is wrong with a fleet:", () => {
  /** A client of the group, by the keys that it leaves. */
  async function leave(plain: Redis, at: number, { silentMs = 0, lib = "holdfast 0.1.0" }): Promise<void> {
    const [seconds] = (await plain.time()) as unknown as readonly string[];
    const heardMs = Number(seconds) * 1_000 - silentMs;
    const id = `${at}5c9a22e-a26e-8001-9d71-bc297677829d`;
    const meta = JSON.stringify({
      app: "jobs",
      host: "pod-9",
      pid: at,
      startedMs: 0,
      lib,
      runtime: "node",
      labels: {},
    });
    const fields = { v: "1", meta, live: "{}", liveAt: String(heardMs), at: String(heardMs), every: "60000" };
    await plain.hset(`holdfast_client:{default}:${id}`, fields);
    await plain.zadd("holdfast_clients:{default}", heardMs + 180_000, id);
  }

  test("a client that is gone, and versions that are mixed", async () => {
    const { server, plain } = await patient.start();
    await leave(plain, 1, {});
    await leave(plain, 2, { lib: "holdfast 0.0.9" });
    await leave(plain, 3, { silentMs: 600_000 });
    const { faults, of } = await diagnose(server.url);
    expect(faults).toEqual(["fleet warn", "fleet warn"]);
    expect(of("fleet")).toContain("warn: 1 of 3 clients are gone: jobs@pod-9 pid 3 10 min ago");
    expect(of("fleet")).toContain("warn: 2 versions at once");
  });

  test("presence that is unwell", async () => {
    const { server, plain } = await patient.start();
    for (const at of [1, 2, 3]) await leave(plain, at, { silentMs: 600_000 });
    expect((await diagnose(server.url)).of("fleet")).toContain("warn: 3 of 3 clients fell silent at once");
  });
});
