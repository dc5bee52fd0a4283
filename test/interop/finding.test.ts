import { describe, expect, test } from "vitest";
import type { FindLocksOptions } from "../../src/index.js";
import { interop, release } from "../support/jvm/interop.js";
import { until } from "../support/run/until.js";
import { countedDuring } from "../support/servers/command-counts.js";
import { listed } from "../support/worlds/listed.js";

const both = interop();
const HOUR_MS = 3_600_000;
const KINDS = [
  { kind: "lock", stored: "lock" },
  { kind: "fair", stored: "fair-lock" },
] as const;

describe(`Redisson ${release}: the list of locks`, () => {
  test.each(KINDS)(
    "has a $kind lock that a JVM holds and others wait for, and asks for no key by its pattern",
    async ({ kind, stored }) => {
      const lock = { kind, name: "order:7" } as const;
      const [holder, jvm, node] = [await both.jvm(), await both.jvm(), await both.node()];
      await holder.client.presence("tell", "default", { app: "billing", host: "pod-7" });
      await holder.lock(lock, HOUR_MS);
      const waiting: Promise<unknown>[] = [];
      for (const user of [jvm, node]) {
        waiting.push(user.lock(lock, HOUR_MS));
        await user.waits();
      }
      const found = (sources: FindLocksOptions["sources"]) =>
        listed(node.holdfast.locks(sources === undefined ? {} : { sources }));
      const byChannels = await found(["channels"]);
      expect(byChannels).toMatchObject([
        {
          key: "order:7",
          name: "order:7",
          kind: stored,
          holders: [{ holder: holder.holder, count: 1, by: "jvm" }],
        },
      ]);
      const queue = byChannels[0]?.waiting.map(({ holder: waiter }) => waiter) ?? [];
      expect(queue.includes(jvm.holder)).toBe(kind === "fair");
      // The JVM does not tell what it holds: by presence alone it is not seen.
      expect(await found(undefined)).toEqual([]);
      const named = await found(["presence", "channels"]);
      expect(named).toMatchObject([
        {
          key: "order:7",
          holders: [{ client: { id: holder.client.id, app: "billing", host: "pod-7", state: "there" } }],
        },
      ]);
      const counts = await countedDuring(both.plain, () => found(["presence", "channels"]));
      const commands = Object.keys(counts);
      expect(commands.some((command) => command.startsWith("pubsub"))).toBe(true);
      expect(commands.filter((command) => ["scan", "keys"].includes(command))).toEqual([]);

      await holder.client.presence("leave", "default", {});
      await holder.unlock(lock);
      // Each lets the other one in.
      await Promise.all(
        [jvm, node].map(async (user, at) => {
          await waiting[at];
          await user.unlock(lock);
        }),
      );
      await until(async () => (await found(["channels"])).length === 0);
    },
  );
});
