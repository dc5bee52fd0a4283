import { Logger } from "@valkey/valkey-glide";
import { describe, test } from "vitest";
import type { HoldfastOptions } from "../../src/client-options.js";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { Holdfast } from "../../src/holdfast.js";
import { allPairs } from "../support/clients/all-pairs.js";
import type { Pair } from "../support/clients/pair.js";
import { pairs } from "../support/clients/pairs.js";
import { halfOpen } from "../support/faults/proxy-faults.js";
import { startProxy, type TcpProxy } from "../support/faults/tcp-proxy.js";
import {
  CROWDED,
  type Verdict,
  verdictOf,
  type WantedThing,
  wantedThings,
} from "../support/models/wanted-things.js";
import { until } from "../support/run/until.js";
import { isBefore7 } from "../support/servers/redis-program.js";
import { type RedisServer, startRedis } from "../support/servers/redis-server.js";

// Without it GLIDE writes a line to the terminal for each of some thousand commands that fail.
Logger.setLoggerConfig("off");

const COMMAND_TIMEOUT_MS = 600;
/** Below the command timeout, as a handler of requests sets it, and above it. */
const WAITS_MS = [0, 100, 1_000];
const CROWD = 200;
const TEST_MS = 60_000;

/** So that the server answers LOADING while it loads: it looks at what it is asked after so many bytes, and needs so long for a key. */
const SLOW_TO_LOAD = ["--enable-debug-command", "yes", "--loading-process-events-interval-bytes", "1024"];
const KEYS = 20_000;
const LOAD_DELAY_US = 500;

interface Parts {
  readonly server: RedisServer;
  readonly proxy: TcpProxy;
  /** Reaches the server past the proxy, and waits for it, however busy the calls of other tests keep this process. */
  readonly ask: (command: string, ...args: (string | number)[]) => Promise<unknown>;
}

interface Outage {
  readonly what: string;
  readonly args?: readonly string[];
  readonly begin: (parts: Parts) => Promise<unknown>;
  /** Whether Redis answers what only reads. */
  readonly answersReads?: boolean;
}

const outages: readonly Outage[] = [
  { what: "is killed", begin: ({ server }) => server.kill() },
  { what: "is stopped", begin: ({ server }) => server.pause() },
  { what: "is cut off", begin: async ({ proxy }) => proxy.inject(halfOpen()) },
  {
    what: "is a replica",
    begin: ({ ask }) => ask("REPLICAOF", "127.0.0.1", 1),
    answersReads: true,
  },
  {
    what: "has too few replicas",
    begin: ({ ask }) => ask("CONFIG", "SET", "min-replicas-to-write", 1),
    answersReads: true,
  },
  // Servers before Redis 7 know neither of the two settings.
  ...(isBefore7() ? [] : [{ what: "is loading", args: SLOW_TO_LOAD, begin: load }]),
];

async function load({ server, ask }: Parts): Promise<void> {
  await ask("DEBUG", "POPULATE", KEYS);
  await ask("CONFIG", "SET", "key-load-delay", LOAD_DELAY_US);
  // It answers when all is loaded.
  const loading = server.client({ retryStrategy: () => null });
  loading.call("DEBUG", "RELOAD").catch(() => undefined);
  await until(async () => {
    const answer = await ask("GET", "a").catch((error: unknown) => String(error));
    return String(answer).includes("LOADING");
  });
}

type OnePair = Pair<"standalone">;
const claimed = pairs.filter((pair): pair is OnePair => pair.topology === "standalone");
const clients = (allPairs ? claimed : claimed.slice(0, 1)).map((pair) => [pair.client, pair] as const);

/** What a test has opened, to be closed when it is over, the latest first. */
type AtEnd = (end: () => Promise<unknown>) => void;

async function open(
  atEnd: AtEnd,
  pair: OnePair,
  options: HoldfastOptions,
  args: readonly string[] = [],
): Promise<Parts & { readonly holdfast: Holdfast }> {
  const server = await startRedis({ args });
  atEnd(() => server.stop());
  const besides = server.client({ retryStrategy: () => null });
  const proxy = await startProxy(server.port);
  atEnd(() => proxy.close());
  const client = await pair.connect({ host: "127.0.0.1", port: proxy.port });
  atEnd(() => client.end());
  const holdfast = new Holdfast(client.drive(), options);
  atEnd(() => holdfast.close({ releaseHeld: true }));
  return { server, proxy, ask: (command, ...given) => besides.call(command, ...given), holdfast };
}

/** Makes and takes what the calls want, however busy those of other tests keep this process. */
function strangerAt(server: RedisServer, atEnd: AtEnd): Holdfast {
  const stranger = new Holdfast(ioredisDriver(server.client()), { commandTimeoutMs: TEST_MS });
  atEnd(() => stranger.close({ releaseHeld: true, graceMs: 0 }));
  return stranger;
}

interface Row {
  readonly thing: WantedThing;
  readonly waitMs: number;
  readonly name: string;
}

function rowsOf(things: readonly WantedThing[], waitsMs = WAITS_MS): readonly Row[] {
  return things.flatMap((thing) =>
    waitsMs.map((waitMs) => ({ thing, waitMs, name: `${thing.name} for ${waitMs} ms` })),
  );
}

/** @returns what the calls of each row have come to: 200 that stand in one line, or two */
async function verdictsOf(
  holdfast: Holdfast,
  rows: readonly Row[],
): Promise<ReadonlyMap<string, ReadonlySet<Verdict>>> {
  const ended = rows.map(async ({ thing, waitMs, name }) => {
    const length = CROWDED.has(thing.name) ? CROWD : 2;
    const calls = Array.from({ length }, (_, at) =>
      Promise.resolve(thing.ways[at % thing.ways.length]?.call(holdfast, name, { waitMs })),
    );
    const outcomes = await Promise.allSettled(calls);
    const verdicts = outcomes.map((outcome) =>
      verdictOf(outcome.status === "rejected" ? { error: outcome.reason } : { value: outcome.value }),
    );
    return [name, new Set(verdicts)] as const;
  });
  return new Map(await Promise.all(ended));
}

const allAre = (rows: readonly Row[], verdict: Verdict) =>
  new Map(rows.map(({ name }) => [name, new Set([verdict])]));

describe.each(clients)("calls of %s for each lock, semaphore and latch", (_, pair) => {
  // They wait most of the time.
  test.concurrent.for(outages)(
    "are all told that the server $what, and not that others have what they want [own-81]",
    { timeout: TEST_MS },
    async (outage, { expect, onTestFinished }) => {
      const atEnd: AtEnd = (end) => onTestFinished(async () => void (await end()));
      const options = { commandTimeoutMs: COMMAND_TIMEOUT_MS };
      const { holdfast, ...parts } = await open(atEnd, pair, options, outage.args);
      const { answersReads = false } = outage;
      const rows = rowsOf(wantedThings.filter(({ onlyReads }) => !(answersReads && onlyReads === true)));
      const stranger = strangerAt(parts.server, atEnd);
      for (const { thing, name } of rows) await thing.stock?.(stranger, name);
      await outage.begin(parts);
      expect(await verdictsOf(holdfast, rows)).toEqual(allAre(rows, "away"));
    },
  );

  test("are all told that others have it, where the server answers [own-81]", {
    timeout: TEST_MS,
  }, async ({ expect, onTestFinished }) => {
    const atEnd: AtEnd = (end) => onTestFinished(async () => void (await end()));
    // However busy the machine is with so many calls: each question is answered.
    const options = { commandTimeoutMs: TEST_MS, redMemberTimeoutMs: TEST_MS };
    const { holdfast, server } = await open(atEnd, pair, options);
    const stranger = strangerAt(server, atEnd);
    // A call that waits for less than a busy machine needs to send it is told nothing.
    const rows = rowsOf(wantedThings, [0, 5_000]);
    for (const { thing, name } of rows) await thing.take(stranger, name);
    expect(await verdictsOf(holdfast, rows)).toEqual(allAre(rows, "refused"));
  });
});
