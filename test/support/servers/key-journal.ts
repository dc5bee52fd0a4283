import { once } from "node:events";
import type { RedisServer } from "./redis-server.js";

/** For a server whose changes are to be written down. */
export const journalArgs: readonly string[] = ["--notify-keyspace-events", "KA"];

export interface KeyJournal {
  /**
   * What happened since the last look, in order: `hset order:7` for a change of a key, `0 -> channel` for a message
   * on one of Redisson's channels.
   */
  read(): Promise<readonly string[]>;
}

const KEYSPACE = "__keyspace@0__:";
const OWN = "journal:";

/** Writes down every change of any key of the server, and every message of locks. The server closes it. */
export async function keepJournal(server: RedisServer): Promise<KeyJournal> {
  const entries: string[] = [];
  // Nobody would hear that subscribing again has failed, as it does when the server stops just then.
  const listener = server.client({ autoResubscribe: false });
  const writer = server.client();
  listener.on("pmessage", (pattern, channel, message) => {
    if (pattern === `${OWN}*`) listener.emit(message);
    else if (channel.startsWith(KEYSPACE)) entries.push(`${message} ${channel.slice(KEYSPACE.length)}`);
    else entries.push(`${message} -> ${channel}`);
  });
  await listener.psubscribe(`${KEYSPACE}*`, "redisson_*", `${OWN}*`);
  let reads = 0;
  return {
    async read() {
      reads += 1;
      // Messages arrive in the order of publishing, so when this one is here, all others are.
      const mark = `mark ${reads}`;
      const marked = once(listener, mark);
      await writer.publish(`${OWN}mark`, mark);
      await marked;
      return entries.splice(0);
    },
  };
}
