import { expect } from "vitest";
import type {
  AcquireAnswer,
  LookIntoQueue,
  Release,
  ReleaseAnswer,
} from "../../../src/protocol/lock-calls.js";
import {
  clientChannel,
  nextField,
  readHoldKey,
  rwChannel,
  WRITE_ENDING,
  waitingKey,
  writersQueueKey,
} from "../../../src/protocol/names.js";
import {
  readAcquire,
  readRelease,
  writeAcquire,
  writeRelease,
} from "../../../src/protocol/read-write-scripts.js";
import type { QueueServer } from "../servers/queue-servers.js";

export const NEVER = Number.MAX_SAFE_INTEGER;
export const NO_LIMIT = 0;
export const LONG_AGO = 1;
export const LEASE_MS = 60_000;

export const [ONE, TWO, THREE, FOUR] = ["1", "2", "3", "4"].map(
  (id) => `${id}0000000-0000-8001-8000-000000000000`,
) as [string, string, string, string];
/** A call of a client that reads, and one that writes. */
export const reader = (client: string): string => `${client}:1`;
export const writer = (client: string, nth = 1): string => `${client}:${nth}${WRITE_ENDING}`;
/** What the lock has while it is given to a client. */
export const next = (client: string): string => nextField(client, WRITE_ENDING);
export const QUEUE = writersQueueKey("a");
export const CHANNEL = rwChannel("a");
export const channelOf = (client: string): string => clientChannel(CHANNEL, client);
export const toldTurn = (client: string): string => `${channelOf(client)} turn`;
export const toldNext = (client: string): string => `${channelOf(client)} next`;
/** The latest release has given the lock away: the next one leaves it to the fastest. */
export const MARK = ["given", "-2"];

const wish = { leaseMs: LEASE_MS, heldCount: 0, kin: "", waits: true, fenced: false, channel: CHANNEL };

export const freed = (heard = 0): ReleaseAnswer => ({ status: "released", heard });
export const held = (stands: boolean, waits = false): AcquireAnswer => ({
  status: "held",
  place: { stands, waits },
});

export function busy(holder: string, stands: boolean, ahead: number, isTold: boolean): object {
  return { status: "busy", holder, waiting: { stands, waits: stands, ahead, isTold } };
}

/** Writers and readers of the lock `a`, and what their commands do, one by one. */
export class WaitingWriters {
  readonly server: QueueServer;

  constructor(server: QueueServer) {
    this.server = server;
  }

  /** Nobody has the lock, all clients listen, and nothing was heard. */
  async reset(): Promise<void> {
    const clients = [ONE, TWO, THREE, FOUR];
    const holds = clients.map((client) => readHoldKey("a", reader(client), 1));
    await this.server.raw("DEL", "a", "b", QUEUE, waitingKey("a"), ...holds);
    await this.server.listen(...clients.map(channelOf));
    await this.server.heard();
  }

  /** A writer that waits asks. */
  async asks(
    client: string,
    { nth = 1, waitsOn = false, notAfterMs = NEVER } = {},
  ): Promise<AcquireAnswer | undefined> {
    const locks = [{ key: "a", holder: writer(client, nth), ...wish, queued: { waitsOn, polls: false } }];
    const [answer] = await this.server.run(writeAcquire(false), { notAfterMs, locks });
    return answer;
  }

  /** A writer that does not wait takes the lock. */
  async takes(client: string, key = "a"): Promise<void> {
    const locks = [{ key, holder: writer(client), ...wish }];
    const answers = await this.server.run(writeAcquire(false), { notAfterMs: NEVER, locks });
    expect(answers).toEqual([{ status: "held" }]);
  }

  /** @param kin the field of the writer that reads as well */
  async reads(client: string, kin = ""): Promise<AcquireAnswer | undefined> {
    const locks = [{ key: "a", holder: reader(client), ...wish, kin }];
    const [answer] = await this.server.run(readAcquire(false), { notAfterMs: NEVER, locks });
    return answer;
  }

  async stopsReading(client: string): Promise<void> {
    const counts = { heldCount: 1, keptCount: 0, ttlMs: 1, keptMs: [] };
    const locks = [{ key: "a", holder: reader(client), ...counts, channel: CHANNEL }];
    await this.server.run(readRelease, { notAfterMs: NEVER, locks });
  }

  /** A release that looks into the queue. */
  async releases(
    holder: string,
    options: Partial<LookIntoQueue> = {},
    notAfterMs: number = NO_LIMIT,
  ): Promise<ReleaseAnswer | undefined> {
    const [answer] = await this.server.run(writeRelease, { notAfterMs, locks: [releaseOf(holder, options)] });
    return answer;
  }

  /** The fields of the lock, in the order of their names. */
  async fields(key = "a"): Promise<readonly string[]> {
    return ((await this.server.raw("HKEYS", key)) as string[]).map(String).sort();
  }

  /** The fields and what they hold, in turn. */
  async stored(): Promise<readonly string[]> {
    return ((await this.server.raw("HGETALL", "a")) as readonly unknown[]).flat().map(String);
  }

  /** Each client with its place, the first first: whether the connection pairs them or not. */
  async queue(): Promise<readonly string[]> {
    const reply = await this.server.raw("ZRANGE", QUEUE, 0, -1, "WITHSCORES");
    return (reply as readonly unknown[]).flat().map(String);
  }

  async ttlOf(key: string): Promise<number> {
    return Number(await this.server.raw("PTTL", key));
  }

  /** A client writes, and these wait to write. */
  async wait(client: string, ...clients: readonly string[]): Promise<void> {
    await this.takes(client);
    for (const other of clients) await this.asks(other);
    await this.server.heard();
  }
}

export function releaseOf(
  holder: string,
  { key = "a", way = "stays", countsAll = true }: Partial<LookIntoQueue> & { readonly key?: string } = {},
): Release {
  const counts = { heldCount: 1, keptCount: 0, ttlMs: 1, keptMs: [] };
  return { key, holder, ...counts, channel: rwChannel(key), looks: { way, countsAll, asOf: {} } };
}
