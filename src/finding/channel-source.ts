import type { Client } from "../client.js";
import { type ChannelReading, readingsOf } from "../protocol/channel-names.js";
import { type FoundChannel, findChannels } from "../protocol/finding-scripts.js";
import type { Patience } from "../runtime/patience.js";

/** What the channels of a key tell. */
export interface Heard {
  /** How many connections listen to them. */
  listeners: number;
  of: ChannelReading["of"];
}

/** The keys to which the channels may belong that somebody listens to. A server names all of its channels in one answer. */
export async function heardKeys(client: Client, patience: Patience): Promise<ReadonlyMap<string, Heard>> {
  // Only clusters have sharded messages of ours.
  const input = { sharded: client.inCluster };
  const { reply } = await client.commands.exchange(findChannels, "", () => input, patience);
  return heardOn(reply);
}

/** @param channels as all masters tell them */
export function heardOn(channels: readonly FoundChannel[]): ReadonlyMap<string, Heard> {
  const heard = new Map<string, Heard>();
  for (const { channel, listeners } of channels) {
    for (const { key, of } of readingsOf(channel)) {
      const known = heard.get(key);
      if (known === undefined) heard.set(key, { listeners, of });
      else known.listeners += listeners;
    }
  }
  return heard;
}
