import { clientChannel } from "../protocol/names.js";
import type { AskingLine } from "../protocol/permit-calls.js";
import type { WaitLine } from "../runtime/wait-line.js";
import type { Count } from "./count.js";

/**
 * How one client's calls for the same number of permits ask if other clients are known to wait as well.
 * @returns undefined if no others are known
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
  // The line does not listen to its own channel yet, but leaves permits to clients that were told their turn.
  return waitedFor.has(channel) ? { line: id, way: "asks", countsAll } : undefined;
}

/** Lets a line wait in the queue: it is told its turn on its own channel. */
export function joinPermitQueue({ client, channel }: Count, permits: number, line: WaitLine): void {
  line.ownChannel ??= clientChannel(channel, `${client.id}:${permits}`);
  line.ears?.relyOn(line.ownChannel);
}

/** Removes a line without waiting calls from the queue. A call that joins the line meanwhile asks again. */
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
