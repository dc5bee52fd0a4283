import { Holdfast, LeaseLostError } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";
import { describe, obey, settings, tell } from "../../../test/support/programs/orders.js";
import type { Between, Counter } from "./counter.js";
import { openCounter, type Store } from "./counters.js";

/**
 * A process that counts in a store under a fenced lock, with the guard or without. It can be told to stand still between its read and
 * its write, so that a test can stop it there. Says "ready" when it has connected.
 */
export interface CountingSettings {
  readonly redisPort: number;
  readonly store: Store;
  readonly storePort: number;
  /** Of the lock and of the counter. */
  readonly name: string;
  readonly way: Way;
}

/** The check in two steps, around what happens between them; in one transaction; not at all. */
export type Way = "in steps" | "in one transaction" | "unguarded";

/** What has become of a turn: its write was acknowledged, or what the error is called. */
export type Outcome = "acknowledged" | (string & {});

const { redisPort, store, storePort, name, way } = settings<CountingSettings>();
const redis = new Redis({ host: "127.0.0.1", port: redisPort });
// The shortest: the test waits for the lease of a stopped process to end.
const holdfast = new Holdfast(ioredisDriver(redis), { watchdogMs: 1_000 });
const lock = holdfast.getFencedLock(name);
const counter = openCounter(store, storePort, name);
let goOn: (() => void) | undefined;

/** Stands still until the order "goOn" comes. */
const pause: Between = (value) =>
  new Promise((resolve) => {
    goOn = resolve;
    tell("has-read", { value });
  });

async function add(token: bigint, between: Between | undefined): Promise<void> {
  if (way === "unguarded") return counter.addUnguarded(between);
  return way === "in steps" ? counter.add(token, between) : inOne(counter)(token, between);
}

function inOne(given: Counter): Counter["add"] {
  if ("addInOne" in given) return given.addInOne as Counter["add"];
  throw new TypeError(`${store} has no transactions`);
}

async function turn(between: Between | undefined): Promise<Outcome> {
  let outcome: Outcome = "not begun";
  const body = async ({ token }: { readonly token: bigint }) => {
    try {
      await add(token, between);
      outcome = "acknowledged";
    } catch (error) {
      outcome = (error as Error).name;
    }
  };
  // A lease that is lost says nothing of the write: that the store has answered.
  await lock.using(body).catch((error: unknown) => {
    if (!(error instanceof LeaseLostError)) throw error;
  });
  return outcome;
}

const stopListening = obey({
  /** So many turns; between the read and the write of the one of that number it stands still. */
  count: async ({ times = 0, pauseIn }: { times?: number; pauseIn?: number }) => {
    const outcomes: Outcome[] = [];
    for (let own = 0; own < times; own += 1) outcomes.push(await turn(own === pauseIn ? pause : undefined));
    return { event: "counted", outcomes };
  },
  goOn: () => {
    goOn?.();
    return { event: "going-on" };
  },
  exit: async () => {
    await holdfast.close();
    await counter.close();
    stopListening();
    redis.disconnect();
    return { event: "closed" };
  },
});

await Promise.all([redis.ping(), counter.value()]).catch((error: unknown) => {
  tell("failed", { error: describe(error) });
  process.exit(1);
});
tell("ready");
