/** What a program in TypeScript imports of each subpath: compiled by `npm run test:runtimes` with each release of the compiler. */
import { events, Holdfast, type HoldfastOptions, type Lease, type Lock, WaitTimeoutError } from "holdfast";
import { conformanceCases } from "holdfast/driver-test";
import { inspector } from "holdfast/inspector";
import { ioredisDriver } from "holdfast/ioredis";
import { memoryDriver } from "holdfast/memory";
import { nodeRedisDriver } from "holdfast/node-redis";
import { leader, runOnce } from "holdfast/recipes";
import { Redlock } from "holdfast/redlock";
import { valkeyGlideDriver } from "holdfast/valkey-glide";
import { watchLocks } from "holdfast/watch";
import { Redis } from "ioredis";

const options: HoldfastOptions = { watchdogMs: 10_000, handOff: false };
const holdfast = new Holdfast(ioredisDriver(new Redis()), options);
const lock: Lock = holdfast.getFencedLock("order:42");

async function work(): Promise<string> {
  events.leaseLost.subscribe(({ name, reason }) => console.error(name, reason));
  try {
    return await lock.using({ waitMs: 5_000 }, async (lease: Lease) => lease.state);
  } catch (error) {
    if (error instanceof WaitTimeoutError) return error.code;
    throw error;
  }
}

export const parts = [
  ...[work, memoryDriver, nodeRedisDriver, valkeyGlideDriver, conformanceCases],
  ...[inspector, leader, runOnce, Redlock, watchLocks],
] as const;
