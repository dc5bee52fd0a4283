import type { Client } from "../client.js";
import { type ChannelReading, readingsOf } from "../protocol/channel-names.js";
import { type FoundChannel, findChannels } from "../protocol/finding-scripts.js";
import type { Patience } from "../runtime/patience.js";

/** The listeners on the channels of a key. */
export interface Heard {
  /**
   * How many connections listen, at least. Some connections listen both to the channel of one client and to the channel of all clients.
   * Redis does not tell which, so the higher of the two numbers counts.
   */
  readonly listeners: number;
  readonly of: ChannelReading["of"];
}

/** The keys to which channels with a listener may belong. A server names all of its channels in one answer. */
export async function heardKeys(client: Client, patience: Patience): Promise<ReadonlyMap<string, Heard>> {
  // Only clusters have sharded messages of holdfast.
  const input = { sharded: client.inCluster };
  const { reply } = await client.commands.exchange(findChannels, "", () => input, patience);
  return heardOn(reply);
}

/** @param channels as all masters report them */
export function heardOn(channels: readonly FoundChannel[]): ReadonlyMap<string, Heard> {
  const heard = new Map<string, Heard>();
  const [ofAll, ofOne] = [new Map<string, number>(), new Map<string, number>()];
  for (const { channel, listeners } of channels) {
    for (const { key, of, ofOne: isOfOne } of readingsOf(channel)) {
      const counts = isOfOne ? ofOne : ofAll;
      counts.set(key, (counts.get(key) ?? 0) + listeners);
      heard.set(key, { listeners: Math.max(ofAll.get(key) ?? 0, ofOne.get(key) ?? 0), of });
    }
  }
  return heard;
}
