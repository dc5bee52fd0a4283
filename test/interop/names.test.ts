import { describe, expect, test } from "vitest";
import { interop, release, since, type UserSettings } from "../support/jvm/interop.js";
import type { RedissonLockName } from "../support/jvm/redisson.js";
import { proves } from "../support/run/proof.js";
import { interopKinds } from "./kinds.js";

const both = interop();
const HOUR_MS = 3_600_000;

const namings: readonly { readonly title: string; readonly name: string; readonly settings: UserSettings }[] =
  [
    { title: "a name with braces around a part", name: "{order}:7", settings: {} },
    { title: "a name with braces in the middle", name: "a{b}c", settings: {} },
    { title: "a name that opens braces", name: "a{b", settings: {} },
    { title: "a name that closes braces", name: "a}b", settings: {} },
    { title: "a name beyond ASCII", name: "заказ ☂ 7", settings: {} },
    { title: "a name mapper", name: "order:7", settings: { namePrefix: "app:" } },
    { title: "a name mapper that adds braces", name: "order:7", settings: { namePrefix: "{app}:" } },
  ];

describe.each(namings)(`Redisson ${release}: $title`, ({ name, settings }) => {
  const maps = settings.namePrefix !== undefined;
  // Before 3.52 a JVM names the queue of a fair lock after the name that was not mapped.
  const offered = interopKinds.filter(({ of }) => !maps || since("3.52.0") || !hasQueue(of(name)));

  describe.each(offered)("$name", ({ name: kind, of, rival = of, tells }) => {
    proves({ kind, direction: "both", of: maps ? "mapper" : "names" });

    test("excludes and wakes both ways", async () => {
      const [jvm, node] = [await both.jvm(settings), await both.node(settings)];
      for (const [holder, waiter] of [
        [jvm, node],
        [node, jvm],
      ] as const) {
        await holder.lock(of(name), HOUR_MS);
        expect(await waiter.tryLock(rival(name))).toBe(false);
        const waiting = waiter.lock(rival(name), HOUR_MS);
        await waiter.waits({ polling: !tells });
        await holder.unlock(of(name));
        await waiting;
        await waiter.unlock(rival(name));
      }
    });
  });
});

function hasQueue({ kind, members = [] }: RedissonLockName): boolean {
  return kind.endsWith("fair") || members.some(hasQueue);
}
