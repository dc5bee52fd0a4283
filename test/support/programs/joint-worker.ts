import { Holdfast, type Lock } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";
import { obey, settings, tell } from "./orders.js";

/**
 * A process that counts under locks that are made of several: it reads numbers from Redis, adds one to each and writes
 * them back, which loses counts when somebody else does the same meanwhile. Says "ready" when it has connected.
 */
export interface JointWorkerSettings {
  /** The servers; the counters are on the first. */
  readonly ports: readonly number[];
  readonly redMemberTimeoutMs?: number;
}

/** What one turn counted. */
interface Campaign {
  readonly names?: readonly string[];
  readonly forMs?: number;
  /** False shows that counts are lost without the lock. */
  readonly locked?: boolean;
}

const { ports, ...options } = settings<JointWorkerSettings>();
const connect = (port = 0) => new Redis({ host: "127.0.0.1", port, retryStrategy: () => 20 });
const [plain, ...redises] = [connect(ports[0]), ...ports.map(connect)];
for (const redis of [plain, ...redises]) redis.on("error", () => undefined);
const clients = redises.map((redis) => new Holdfast(ioredisDriver(redis), options));

function clientAt(index: number): Holdfast {
  const client = clients[index % clients.length];
  if (client === undefined) throw new TypeError("there is at least one server");
  return client;
}

/** Each name has one server, whoever asks. */
function multiOf(names: readonly string[], all: readonly string[]): Lock {
  return clientAt(0).getMultiLock(...names.map((name) => clientAt(all.indexOf(name)).getLock(name)));
}

/** Some of the names in any order. */
function someOf(names: readonly string[]): readonly string[] {
  const shuffled = names.map((name) => ({ name, at: Math.random() })).sort((a, b) => a.at - b.at);
  return shuffled.slice(0, 1 + Math.floor(Math.random() * names.length)).map(({ name }) => name);
}

async function countAll(names: readonly string[]): Promise<void> {
  for (const name of names) {
    const count = Number(await plain.get(`counter:${name}`));
    await plain.set(`counter:${name}`, count + 1);
  }
}

async function campaign(
  { names = [], forMs = 0, locked = true }: Campaign,
  lockOf: (chosen: readonly string[]) => Lock,
  choose: (names: readonly string[]) => readonly string[],
) {
  const counts: Record<string, number> = Object.fromEntries(names.map((name) => [name, 0]));
  const endMs = performance.now() + forMs;
  let visits = 0;
  while (performance.now() < endMs) {
    const chosen = choose(names);
    const visit = async () => {
      await countAll(chosen);
      for (const name of chosen) counts[name] = (counts[name] ?? 0) + 1;
      visits += 1;
    };
    await (locked ? lockOf(chosen).using(visit) : visit());
  }
  return { event: "counted", counts, visits };
}

const stopListening = obey({
  multi: (order: Campaign) => campaign(order, (chosen) => multiOf(chosen, order.names ?? []), someOf),
  red: (order: Campaign) =>
    campaign(
      order,
      ([name = ""]) => clientAt(0).getRedLock(...clients.map((client) => client.getLock(name))),
      (names) => names,
    ),
  exit: async () => {
    await Promise.all(clients.map((client) => client.close()));
    stopListening();
    for (const redis of [plain, ...redises]) redis.disconnect();
    return { event: "closed" };
  },
});

await Promise.all([plain, ...redises].map((redis) => redis.ping()));
tell("ready");
