import { clientChannel } from "../protocol/names.js";
import type { AskingLine } from "../protocol/permit-calls.js";
import type { WaitLine } from "../runtime/wait-line.js";
import type { Count } from "./count.js";

/**
 * How the calls of one client that want equally many permits ask, where others are known to wait as well.
 * @returns undefined where nobody is known to
 * @see docs/internals/waiting-queue.md#the-queue-of-a-semaphore
 */
export function askingLine(
  { client, channel }: Count,
  permits: number,
  line: WaitLine,
): AskingLine | undefined {
  const { countsAll, waitedFor } = client.lines;
  const id = `${client.id}:${permits}`;
  if (line.queues) {
    line.ears?.mayStand();
    return { line: id, way: line.length > 1 ? "stays" : "stands", countsAll };
  }
  // It does not hear its own channel yet, but leaves their permits to those that were told their turn.
  return waitedFor.has(channel) ? { line: id, way: "asks", countsAll } : undefined;
}

/** From now on a line stands in the queue, and is told its turn on a channel of its own. */
export function joinPermitQueue({ client, channel }: Count, permits: number, line: WaitLine): void {
  line.ownChannel ??= clientChannel(channel, `${client.id}:${permits}`);
  line.ears?.relyOn(line.ownChannel);
}

/** Takes a line out of the queue of which no call waits any more. A call that comes meanwhile asks once more. */
export function leavePermitQueue({ client, key, channel }: Count, permits: number, line: WaitLine): void {
  const { ears } = line;
  if (ears === undefined || !ears.mayWait || line.head !== undefined) return;
  ears.mayWait = false;
  const leaving = { count: key, channel, line: `${client.id}:${permits}`, countsAll: client.lines.countsAll };
  client.inBackground(async () => {
    try {
      const { permitLeave } = await import("../protocol/later-count-scripts.js");
      await client.commands.exchange(permitLeave, key, () => leaving);
    } finally {
      line.wake();
    }
  });
}
