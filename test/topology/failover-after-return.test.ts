import { afterAll, beforeAll, expect, test } from "vitest";
import { pairs } from "../support/clients/pairs.js";
import { ask, info, soon } from "../support/servers/ask.js";
import type { RedisServer } from "../support/servers/redis-server.js";
import { startSentinels, type WatchedRedis } from "../support/servers/sentinels.js";
import { type DoubleHold, findDoubles, Taker } from "../support/worlds/second-holders.js";

/** Each takes a quarter of a minute. `npm run test:long` plays some more, which is enough to meet each moment of a failover. */
const ROUNDS = Number(process.env["HOLDFAST_RETURN_ROUNDS"] ?? 2);
/** Sentinels tell each other of a new master as often as they do by default. */
const PUBLISH_PERIOD_MS = 2_000;
/** Each client counts the replicas so often. */
const COUNT_MS = 5_200;
/** Until the old master is a replica of the new one and all clients have heard of it. */
const AFTER_MS = 4_000;
const ROUND_MS = 60_000;
/** Many times what a message takes to arrive on a machine that is busy, and half of what it takes until Sentinels name a new master. */
const LATENCY_MS = 500;

let servers: WatchedRedis;
const takers: Taker[] = [];

beforeAll(async () => {
  servers = await startSentinels({ replicas: 2 });
  const { sentinels, name } = servers;
  for (const pair of pairs) {
    if (pair.topology !== "sentinel") continue;
    takers.push(new Taker(pair.client, await pair.connect({ sentinels, name }), "auto"));
  }
}, ROUND_MS);

afterAll(async () => {
  await Promise.all(takers.map((taker) => taker.end()));
  await servers.stop();
}, ROUND_MS);

/** A replica ends, all clients count one less, and it comes back. */
async function comeBack(replica: RedisServer, master: RedisServer): Promise<void> {
  await replica.kill();
  await new Promise((resolve) => setTimeout(resolve, COUNT_MS));
  await replica.restart();
  await ask(replica, "REPLICAOF", "127.0.0.1", master.port);
  await servers.settled();
  await servers.announceEvery(PUBLISH_PERIOD_MS);
}

/** Resolves with the replica that is made the master, as soon as it is, whether or not a Sentinel has said so. */
async function promoted(old: RedisServer): Promise<RedisServer> {
  let next: RedisServer | undefined;
  const [watcher = old] = servers.watchers;
  await ask(watcher, "SENTINEL", "FAILOVER", servers.name);
  await soon("a replica is made the master", async () => {
    const others = servers.nodes.filter((node) => node !== old);
    const roles = await Promise.all(
      others.map(async (node) => (await info(node, "replication")).get("role")),
    );
    next = others[roles.indexOf("master")];
    return next !== undefined;
  });
  return next ?? old;
}

test.each(Array.from({ length: ROUNDS }, (_, at) => at + 1))(
  "a planned failover right after a replica has come back, round %i: with `auto` no lock has two holders for longer than a message takes [own-93]",
  { timeout: ROUND_MS },
  async (round) => {
    await servers.settled();
    const old = await servers.master();
    const replicas = servers.nodes.filter((node) => node !== old);
    for (const taker of takers) taker.begin();
    await comeBack(replicas[round % replicas.length] ?? old, old);
    const master = await promoted(old);
    const promotedMs = performance.now();
    let namedMs = Number.NaN;
    const named = servers.successor(old).then(() => {
      namedMs = performance.now();
    });
    const { doubles, tallies } = await findDoubles(takers, master, promotedMs, promotedMs + AFTER_MS);
    await named;
    if (process.env["HOLDFAST_RETURN_ROUNDS"] !== undefined)
      console.info(JSON.stringify({ round, namedMs: Math.round(namedMs - promotedMs), doubles, tallies }));
    expect(doubles.filter(isLate)).toEqual([]);
    // All go on.
    for (const { who, takenAfter } of tallies) expect([who, takenAfter > 0]).toEqual([who, true]);
  },
);

function isLate({ takenMs }: DoubleHold): boolean {
  return takenMs > LATENCY_MS;
}
