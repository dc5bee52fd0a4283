import { events } from "../events.js";
import type { Stay } from "../threads/stay.js";
import type { Part } from "./lock-kind.js";
import type { WayOfWaiting } from "./way-of-waiting.js";
import { leftMsOf } from "./wish.js";

/** What a call reports when it must wait: the holder, and how many calls are before it. */
interface FoundHolder {
  /** "" when no holder was seen. */
  readonly holder: string;
  readonly ttlMs: number;
  /** How many calls of its client are before it. */
  readonly behind: number;
}

/** What a call waits for until it may enter an existing stay. */
interface StayTurn {
  readonly stay: Stay;
  readonly mayEnter: () => boolean;
}

/** Publishes the call as contended. To be run once for each call, if the channel has subscribers, in the caller's async context. */
export function tellContended({ lock, wish }: Pick<Part, "lock" | "wish">, found: FoundHolder): void {
  wish.isContended = true;
  const { client, name, kind } = lock;
  const ttlMs = found.holder === "" ? -1 : found.ttlMs;
  const own = client.holdsAs(found.holder);
  const { clientId, server } = client.about;
  const { holder, behind } = found;
  const event = { clientId, server, name, kind: kind.name, holder, behind, ttlMs, own };
  wish.waiter.toldContended(event);
  events.contended.publish(event);
}

/** Publishes a call as contended when it has just begun to wait and other calls of its client are before it. */
export function tellBehind(part: Part, { behind }: WayOfWaiting): void {
  const { lock, wish } = part;
  if (behind === 0 || wish.isContended) return;
  const { clock, lines } = lock.client;
  const seen = lines.of(lock.id)?.sighting;
  const ttlMs = seen === undefined ? -1 : leftMsOf(clock.monotonicMs(), seen);
  tellContended(part, { holder: seen?.holder ?? "", ttlMs, behind });
}

/** Publishes a call as contended when it waits for its turn in a stay of its own thread, unless it waits only for a command. */
export function tellTurn(part: Part, { stay, mayEnter }: StayTurn): void {
  const { isContended, waiter } = part.wish;
  const behind = stay.before(waiter);
  if (isContended || (behind === 0 && mayEnter())) return;
  const { innermost, field } = stay;
  const ttlMs = Math.round(innermost?.believedMs() ?? -1);
  tellContended(part, { holder: innermost === undefined ? "" : field, ttlMs, behind });
}
