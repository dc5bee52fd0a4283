import { channelStarts } from "./channel-starts.js";

/** A key that a channel may belong to, and the kind of its object. */
export interface ChannelReading {
  readonly key: string;
  readonly of: "lock" | "semaphore" | "count-down-latch";
  /** True if only one waiter, or the waiters of one client, listen to this channel. */
  readonly ofOne?: true;
}

/** The prefixes of all channels that {@link readingsOf} reads. */
export const readableStarts: readonly string[] = [
  `${channelStarts.lock}:`,
  `${channelStarts.readWrite}:`,
  `${channelStarts.semaphore}:`,
  `${channelStarts.latch}{`,
];

/**
 * The suffix of a channel: `:<client id>:<thread id>` for a JVM's waiter for a fair lock; `:<client id>` for all waiters of a client of
 * holdfast; `:<client id>:<permits>` for a client's calls for that number of permits.
 */
const WAITER = /:[0-9a-f-]{36}(?::\d+)?$/;

/**
 * The keys that a channel of names.ts may belong to; none for any other channel. Several names may share a channel: `{a}` has the channel
 * of `a`, and a name may end like a waiter's channel.
 */
export function readingsOf(channel: string): readonly ChannelReading[] {
  const { lock, readWrite, semaphore, latch } = channelStarts;
  const all = (of: ChannelReading["of"], keys: readonly string[]) => keys.map((key) => ({ key, of }));
  const [ofLock, ofPair, ofSemaphore] = [lock, readWrite, semaphore].map((start) => restOf(channel, start));
  const rest = ofLock ?? ofPair ?? ofSemaphore;
  if (rest !== undefined) {
    const of = rest === ofSemaphore ? "semaphore" : "lock";
    return [
      ...all(of, rawsOf(rest)),
      ...all(of, rawsOf(rest.replace(WAITER, ""), rest)).map((one) => ({ ...one, ofOne: true as const })),
    ];
  }
  const isLatch = channel.startsWith(`${latch}{`) && channel.endsWith("}");
  return all("count-down-latch", isLatch ? [channel.slice(latch.length + 1, -1)].filter(isName) : []);
}

function restOf(channel: string, start: string): string | undefined {
  return channel.startsWith(`${start}:`) ? channel.slice(start.length + 1) : undefined;
}

/** The names from which `prefixed` makes this channel, given the channel without its prefix. @param unlike a text that was already read */
function rawsOf(rest: string, unlike?: string): string[] {
  if (rest === unlike || !rest.includes("{")) return [];
  const inner = /^\{([^{]*)\}$/s.exec(rest)?.[1] ?? "";
  return [inner, rest].filter(isName);
}

function isName(raw: string): boolean {
  return raw !== "";
}
