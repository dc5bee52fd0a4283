import type { LockSource } from "../../../src/finding/finding-options.js";
import type { ListedLock } from "../../../src/finding/listed-lock.js";
import { pick } from "../draw.js";
import type { Caller } from "./caller.js";

/** It asks one thing after the other, and each may be asked for a command timeout. */
const LONGEST_MS = 60_000;

/** Lists the locks that are found: each holder of them was stored, so often, at some time during the call. */
export async function findLocks(caller: Caller): Promise<void> {
  const { keyspace, checker, nowUs } = caller.scene;
  const { holdfast } = caller.member;
  const sources = pick<readonly LockSource[]>(caller.finds, [
    ["presence"],
    ["channels"],
    ["presence", "channels"],
  ]);
  const sinceUs = nowUs();
  const what = `locks() by ${sources.join(" and ")}`;
  const became = await caller.call({ what, names: [], waitMs: LONGEST_MS }, async () => {
    const locks: ListedLock[] = [];
    for await (const lock of holdfast.locks({ sources })) locks.push(lock);
    return locks;
  });
  if (!became.ok) return;
  for (const { key, holders } of became.value) {
    if (!keyspace.knows(key)) continue;
    const states = keyspace.since(key, sinceUs);
    const wasStored = ({ holder, count }: ListedLock["holders"][number]) =>
      states.some(({ fields }) => fields.get(holder) === String(count));
    const untrue = holders.find((holder) => !wasStored(holder));
    if (untrue === undefined) continue;
    const had = states.map(({ fields }) => JSON.stringify([...fields])).join(", ");
    checker.fail("truth", `${caller.name}: ${what} lists ${untrue.holder} in "${key}", and it had ${had}`);
  }
}
