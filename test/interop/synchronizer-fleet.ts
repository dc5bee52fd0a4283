import { permitLeasesKey } from "../../src/protocol/names.js";
import { type Interop, interop, type UserSettings } from "../support/jvm/interop.js";
import type { RedissonSynchronizerName } from "../support/jvm/redisson.js";
import {
  type CallOptions,
  JvmSynchronizers,
  NodeSynchronizers,
  type SynchronizerUser,
} from "../support/jvm/synchronizer-user.js";
import type { Proof } from "../support/run/proof.js";

export interface Direction {
  readonly title: Exclude<Proof["direction"], "both">;
  /** Who holds permits, or counts down, and who waits. */
  users(settings?: UserSettings): Promise<readonly [SynchronizerUser, SynchronizerUser]>;
  readonly waiter: "jvm" | "node";
}

export interface SynchronizerFleet {
  readonly both: Interop;
  readonly directions: readonly Direction[];
  jvm(settings?: UserSettings): Promise<SynchronizerUser>;
  node(settings?: UserSettings): Promise<SynchronizerUser>;
  /** Removes semaphores and latches, which end with nobody. */
  clear(...names: readonly string[]): Promise<void>;
}

/** A server, a JVM, and users of semaphores and latches on both sides. To be called once in a file. */
export function synchronizerFleet(): SynchronizerFleet {
  const both = interop();
  const jvm = async (settings?: UserSettings) => new JvmSynchronizers(await both.jvm(settings));
  const node = async (settings?: UserSettings) => new NodeSynchronizers(await both.node(settings));
  return {
    both,
    jvm,
    node,
    directions: [
      {
        title: "a JVM holds, Node waits",
        users: (settings) => Promise.all([jvm(settings), node(settings)]),
        waiter: "node",
      },
      {
        title: "Node holds, a JVM waits",
        users: (settings) => Promise.all([node(settings), jvm(settings)]),
        waiter: "jvm",
      },
    ],
    async clear(...names) {
      await both.plain.del(...names.flatMap((name) => [name, permitLeasesKey(name)]));
    },
  };
}

/** Permits that somebody has. */
export interface Taken {
  giveBack(): Promise<unknown>;
}

/** Takes permits of either kind, as long as it takes. */
export async function take(
  user: SynchronizerUser,
  on: RedissonSynchronizerName,
  options: CallOptions = {},
): Promise<Taken> {
  const answer = await user.call(on, "acquire", options);
  const given = Array.isArray(answer) ? { permitIds: answer } : options;
  return { giveBack: () => user.call(on, "release", given) };
}

/** Whether permits of either kind were had at once; they are given back. */
export async function had(
  user: SynchronizerUser,
  on: RedissonSynchronizerName,
  options: CallOptions = {},
): Promise<boolean> {
  const answer = await user.call(on, "tryAcquire", options);
  if (answer === false || (Array.isArray(answer) && answer.length === 0)) return false;
  await user.call(on, "release", Array.isArray(answer) ? { permitIds: answer } : options);
  return true;
}
