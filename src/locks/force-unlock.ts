import type { Client } from "../client.js";
import { UnavailableError, WrongTypeError } from "../errors.js";
import { MODE_FIELD } from "../protocol/names.js";
import type { Exchanged } from "../runtime/commands.js";
import type { LockIdentity } from "./lock-kind.js";
import { look } from "./look.js";

/** The pauses between the repetitions of what too few replicas have: twice as long each time, for a minute in all. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 32_000;

/**
 * Frees a lock from the holders that it has now, and from no others: a repeat of the command can not hit the next one.
 * @returns false when it was free
 * @throws UnavailableError, WrongTypeError
 */
export async function forceUnlock(lock: LockIdentity): Promise<boolean> {
  const { client, kind, key, channel } = lock;
  const { clock, commands } = client;
  const endMs = clock.monotonicMs() + commands.timeoutMs;
  do {
    const record = await look(lock);
    if (!kind.isForceable(record)) return false;
    const { fields: seen } = record;
    const send = () =>
      commands.exchange(kind.forceUnlock, key, () => ({
        key,
        notAfterMs: commands.notAfterMs(key),
        channel,
        seen,
      }));
    const { reply, repeated, shortfall } = await send();
    if (reply.status === "wrong-type") throw new WrongTypeError(key, reply.type);
    if (reply.status === "released" || reply.status === "absent") {
      client.threads.stolen(key, Object.keys(seen));
      // A replica that takes over is not to bring the holders back.
      if (shortfall !== undefined) repeat(client, send);
      return true;
    }
    // The copy that was not answered may have freed it, and somebody else be in: look whether those seen are gone.
    if (repeated) {
      const { fields: now } = await look(lock);
      const gone = Object.keys(seen).filter((field) => field !== MODE_FIELD);
      if (gone.every((field) => now[field] === undefined)) {
        client.threads.stolen(key, gone);
        return true;
      }
    }
  } while (clock.monotonicMs() < endMs);
  throw new UnavailableError(
    commands.server,
    `lock "${lock.name}" changes hands faster than it can be freed`,
    false,
  );
}

/** Behind the scenes, until enough replicas have it. */
function repeat(client: Client, send: () => Promise<Exchanged<unknown>>): void {
  client.inBackground(async () => {
    for (let pauseMs = FIRST_PAUSE_MS; pauseMs <= LONGEST_PAUSE_MS && !client.stopped; pauseMs *= 2) {
      await client.commands.pause(pauseMs);
      const sent = await send().catch(() => undefined);
      if (sent !== undefined && sent.shortfall === undefined) return;
    }
  });
}
