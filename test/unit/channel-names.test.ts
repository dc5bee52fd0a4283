import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readableStarts, readingsOf } from "../../src/protocol/channel-names.js";
import {
  clientChannel,
  latchChannel,
  lockChannel,
  rwChannel,
  semaphoreChannel,
  waiterChannel,
} from "../../src/protocol/names.js";

const ID = "2f1c9d1e-6f0a-4c6e-9d8e-0123456789ab";

const keysOf = (channel: string) => readingsOf(channel).map(({ key }) => key);

/** Of parts that names are read back by. */
const names = fc
  .array(
    fc.constantFrom("{", "}", ":", "a", "order", "7", ID, `:${ID}`, `:${ID}:57`, "redisson_rwlock:", "\n"),
    {
      minLength: 1,
      maxLength: 6,
    },
  )
  .map((parts) => parts.join(""));

describe("a channel is read back to its key", () => {
  test.each<[string, readonly string[]]>([
    ["redisson_lock__channel:{order:7}", ["order:7", "{order:7}"]],
    ["redisson_lock__channel:{order}:7", ["{order}:7"]],
    [`redisson_lock__channel:{order:7}:${ID}:57`, [`{order:7}:${ID}:57`, "order:7", "{order:7}"]],
    [`redisson_lock__channel:{order}:7:${ID}:57`, [`{order}:7:${ID}:57`, "{order}:7"]],
    [`redisson_lock__channel:{order:7}:${ID}`, [`{order:7}:${ID}`, "order:7", "{order:7}"]],
    ["redisson_rwlock:{order:7}", ["order:7", "{order:7}"]],
    [`redisson_rwlock:{order:7}:${ID}`, [`{order:7}:${ID}`, "order:7", "{order:7}"]],
    ["redisson_sc:{pool}", ["pool", "{pool}"]],
    ["redisson_countdownlatch__channel__{start}", ["start"]],
    ["redisson_countdownlatch__channel__{{a}b}", ["{a}b"]],
  ])("%s", (channel, keys) => {
    expect(keysOf(channel)).toEqual(keys);
  });

  test.each([
    "redisson_topic:{a}",
    "redisson_lock__channel:a",
    "redisson_lock__channel:",
    "redisson_sc",
    "order:7",
  ])("but not %s, which is none of ours", (channel) => {
    expect(readingsOf(channel)).toEqual([]);
  });

  test("whatever its name has in it", () => {
    const holder = fc.constantFrom(`${ID}:57`, `${ID}:4294967297`);
    fc.assert(
      fc.property(names, holder, (name, waiting) => {
        const [lock, pair] = [lockChannel(name), rwChannel(name)];
        const all: readonly (readonly [string, string])[] = [
          ...[lock, waiterChannel(lock, waiting), clientChannel(lock, ID), pair, clientChannel(pair, ID)].map(
            (channel) => [channel, "lock"] as const,
          ),
          [semaphoreChannel(name), "semaphore"],
          [clientChannel(semaphoreChannel(name), `${ID}:3`), "semaphore"],
          [latchChannel(name), "count-down-latch"],
        ];
        for (const [channel, of] of all) {
          expect(readingsOf(channel), channel).toContainEqual(expect.objectContaining({ key: name, of }));
          expect(readableStarts.some((start) => channel.startsWith(start))).toBe(true);
        }
      }),
      { seed: 21, numRuns: 3_000 },
    );
  });

  test("and to no name of which the channel would be another", () => {
    fc.assert(
      fc.property(names, (rest) => {
        for (const key of keysOf(`redisson_countdownlatch__channel__${rest}`))
          expect(latchChannel(key)).toBe(`redisson_countdownlatch__channel__${rest}`);
        const ofSemaphore = keysOf(`redisson_sc:${rest}`).map(semaphoreChannel);
        for (const channel of ofSemaphore) expect(`redisson_sc:${rest}`.startsWith(channel)).toBe(true);
        const ofLock = keysOf(`redisson_lock__channel:${rest}`).map(lockChannel);
        for (const channel of ofLock) expect(`redisson_lock__channel:${rest}`.startsWith(channel)).toBe(true);
        const ofPair = keysOf(`redisson_rwlock:${rest}`).map(rwChannel);
        for (const channel of ofPair) expect(`redisson_rwlock:${rest}`.startsWith(channel)).toBe(true);
      }),
      { seed: 21, numRuns: 3_000 },
    );
  });
});
