import type { FeedEvent, LockRow } from "../../../src/inspector/format.js";
import { shown } from "../text/shown.js";
import type { Words } from "../words/en.js";

type Holder = LockRow["holders"][number];

interface Program {
  readonly id: string;
  readonly app: string;
  readonly host: string | null;
}

/** `api@web-7` */
export function programName({ id, app, host }: Program): string {
  if (app === "" && host === null) return shown(shortId(id));
  return shown(host === null ? app : `${app}@${host}`);
}

/** The name of a holder. Without presence: `JVM 4e7e0b1c:57`. */
export function holderName(words: Words, { client, holder, by }: Holder): string {
  if (client !== null) return programName(client);
  const name = shown(shortHolder(holder));
  if (by === "jvm") return words.jvmHolder(name);
  return by === "other" ? words.otherHolder(name) : name;
}

/** The name with all details that distinguish the holder from other holders: `api@web-7, pid 3121, thread 4`. */
export function fullHolderName(words: Words, holder: Holder): string {
  const { client } = holder;
  if (client === null) return holderName(words, holder);
  const pid = client.pid === null ? "" : `, ${words.pid(client.pid)}`;
  return [`${programName(client)}${pid}`, ...threadOf(words, holder)].join(", ");
}

/** The part behind the client id. The holder of a permit is a client, not a thread. */
export function threadOf(words: Words, { holder }: Holder): readonly string[] {
  const [, thread] = holder.split(":");
  return thread === undefined ? [] : [words.thread(shown(thread))];
}

export function isWriter({ holder }: Holder): boolean {
  return holder.endsWith(":write");
}

/** The first digits of a UUID tell clients apart on a page. */
function shortId(id: string): string {
  return id.slice(0, 8);
}

function shortHolder(holder: string): string {
  const [id = "", ...rest] = holder.split(":");
  return /^[0-9a-f-]{36}$/.test(id) ? [shortId(id), ...rest].join(":") : holder;
}

/** An event, as a sentence. */
export function eventText(words: Words, event: FeedEvent): string {
  const { type, client, holder, reason, actor } = event;
  const name = client === undefined ? words.someClient : shown(client);
  const why = reason === undefined ? words.noReason : shown(reason);
  switch (type) {
    case "lost":
      return words.eventLost(name, why);
    case "forced":
      return (event.permits === undefined ? words.eventForced : words.eventGivenBack(event.permits))(
        actor === undefined ? words.somebody : shown(actor),
        holder === undefined ? words.someHolder : shown(holder),
        reason === undefined ? "" : shown(reason),
      );
    case "gone":
      return words.eventGone(name);
    case "stale":
      return words.eventStale;
    case "redis-away":
      return words.eventAway(why);
    case "redis-back":
      return words.eventBack;
    default:
      return shown(type satisfies never);
  }
}
