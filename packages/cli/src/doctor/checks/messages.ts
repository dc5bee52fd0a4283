import type { Redis } from "ioredis";
import { within } from "../../within.js";
import { type Check, type Finding, fail, ok, warn } from "../check.js";
import type { Scene } from "../scene.js";

const doc = "docs/guide/topologies.md#messages-in-a-cluster";
const rightsDoc = "docs/guide/servers.md#the-rights-that-are-needed";
const ARRIVES_WITHIN_MS = 1_000;
/** A second connection must be open and subscribed within this time. */
const READY_WITHIN_MS = 5_000;

/** The beginning of an error that this check ignores, because the check `cluster` reports a missing master. */
const NO_MASTER = "no master serves";

type Family = "classic" | "sharded";

/** The result of a message: after how many milliseconds it came, or why it did not come. */
export type Trip = { readonly tookMs: number } | { readonly why: string };

/** Whether a process that waits receives the message of a release. */
export const messages: Check = {
  id: "messages",
  async look(scene) {
    const classic = await send(scene, "classic");
    if (!scene.isCluster) return [judgeOne(classic)];
    const sharded = await send(scene, "sharded");
    // Before Redis 7.0 there are no sharded messages, and all clients use classic messages.
    const hasSharded = "tookMs" in sharded || !/unknown command/i.test(sharded.why);
    return [hasSharded ? judgeBoth(classic, sharded) : judgeOne(classic)];
  },
};

const why =
  "A process that waits for a lock gets no message of its release, and only asks again every few seconds.";

export function judgeOne(trip: Trip): Finding {
  if ("tookMs" in trip) return ok(`a message came after ${trip.tookMs.toFixed(1)} ms`);
  return fail(`no message came: ${trip.why}`, { why, ...adviceFor(trip.why) });
}

export function judgeBoth(classic: Trip, sharded: Trip): Finding {
  const trips = [
    ["PUBLISH", classic],
    ["SPUBLISH", sharded],
  ] as const;
  const text = trips
    .map(
      ([name, trip]) =>
        `${name} ${"tookMs" in trip ? `came after ${trip.tookMs.toFixed(1)} ms` : `did not come (${trip.why})`}`,
    )
    .join(", ");
  const failed = trips.filter(([, trip]) => "why" in trip);
  if (failed.length === 0) return ok(text);
  if (failed.length === trips.length)
    return fail(text, { why, ...adviceFor("why" in classic ? classic.why : "") });
  if ("why" in sharded && sharded.why.startsWith(NO_MASTER)) return ok(text);
  const works = "tookMs" in classic ? "classic" : "sharded";
  return warn(text, {
    why: "Clients that use the other kind of messages, such as JVMs, get no messages of releases.",
    wanted: `Set pubSub: "${works}" in all clients, and the same in Redisson.`,
    doc,
  });
}

function adviceFor(reason: string): { readonly wanted: string; readonly doc: string } {
  return reason.includes("NOPERM")
    ? {
        wanted:
          "Grant these rights, after you have replaced NAME by the beginning of your lock names: &redisson_*{NAME* +publish +subscribe +unsubscribe",
        doc: rightsDoc,
      }
    : { wanted: "Check whether a proxy in between drops the messages.", doc };
}

/** Sends a message and receives it by a second connection, on a channel that is named like those of locks. */
async function send(scene: Scene, family: Family): Promise<Trip> {
  const tag = scene.trialKey.includes("{") ? scene.trialKey : `{${scene.trialKey}}`;
  const channel = `redisson_lock__channel:${tag}`;
  let listening: Redis | undefined;
  try {
    const server = await serverFor(scene, channel, family);
    listening = server.duplicate({ lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
    listening.on("error", () => undefined);
    const heard = listening;
    const arrival = new Promise<number>((resolve) => {
      heard.on(family === "classic" ? "message" : "smessage", () => resolve(performance.now()));
    });
    await within(READY_WITHIN_MS, subscribe(heard, channel, family));
    const fromMs = performance.now();
    const sent = family === "classic" ? server.publish(channel, "") : server.spublish(channel, "");
    await within(ARRIVES_WITHIN_MS, sent);
    return { tookMs: (await within(ARRIVES_WITHIN_MS, arrival)) - fromMs };
  } catch (error) {
    return { why: error instanceof Error ? error.message : String(error) };
  } finally {
    listening?.disconnect();
  }
}

async function subscribe(listening: Redis, channel: string, family: Family): Promise<void> {
  await listening.connect();
  await (family === "classic" ? listening.subscribe(channel) : listening.ssubscribe(channel));
}

/** Sharded messages go through the master that has the slot. */
async function serverFor(
  { redis, anyServer, servers }: Scene,
  channel: string,
  family: Family,
): Promise<Redis> {
  if (family === "classic" || !("slots" in redis)) return anyServer.redis;
  const slot = Number(await anyServer.redis.call("CLUSTER", "KEYSLOT", channel));
  const [address] = redis.slots[slot] ?? [];
  const server = servers.find(({ redis: { options } }) => `${options.host}:${options.port}` === address);
  if (server === undefined) throw new Error(`${NO_MASTER} its slot ${slot}`);
  return server.redis;
}
