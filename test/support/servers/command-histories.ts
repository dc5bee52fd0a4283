import fc from "fast-check";
import type { Snapshot } from "../../../src/memory/index.js";
import { briefText } from "../run/brief.js";
import { isReference } from "./redis-program.js";
import type { Action } from "./server-pair.js";

/** One step of a history of what many clients ask of a server. */
export type Step = Action | InformedStep | { readonly full: boolean };

/** What a client does that knows what is stored. */
export interface InformedStep {
  readonly decide: (stored: Snapshot) => Action;
}

/** The field of somebody in the hash of a lock. */
export const holder = fc.constantFrom(
  "h1",
  "hölder 2",
  "h3:write",
  "c0000000-0000-8001-8000-000000000000:1",
  "c0000000-0000-8001-8000-000000000000:2",
);
const channel = fc.constantFrom("channel one", "channel two", "nobody listens");

/** For messages: the source of a script, or a long name, would bury the rest. */
export function textOf(action: Action): string {
  return briefText(
    JSON.stringify("script" in action ? [action.script.name, action.keys, action.args] : action),
  );
}

const word = fc.oneof(holder, fc.constantFrom("1", "2", "07", "1.5", "text"));
/** What not every server takes: `DECRBY` by it overflows, and some have no hexadecimal scores. */
const [lowest, hex] = isReference() ? [["-9223372036854775808"], ["0x10"]] : [[], []];
const increment = fc.constantFrom("1", "-3", "text", "9223372036854775807", ...lowest);
const ttl = fc.constantFrom("60000", "600000", "0", "-5", "soon", "1.5", "9223372036854775807");
const place = fc.constantFrom("0", "1", "-1", "-2", "5", "x");
const item = fc.constantFrom("one", "two");
const score = fc.constantFrom("1", "2.5", "-1", "1795209961773", "inf", ...hex, "nan", "one");
const bound = fc.oneof(
  score,
  fc.constantFrom("-inf", "+inf", "(inf", "(1", "(2.5", "(1795209961773", "(one", "0"),
);

type CommandsOn = (key: fc.Arbitrary<string>) => fc.Arbitrary<Action>;

/** The commands for one type of value. */
const families: readonly CommandsOn[] = [
  (on) =>
    fc.oneof(
      words("HSET", on, holder, word),
      words("HSET", on, holder, word, holder),
      words("HINCRBY", on, holder, increment),
      words("HDEL", on, holder, holder),
      words(fc.constantFrom("HGET", "HEXISTS", "HSTRLEN"), on, holder),
      // As many as there can be, as chance chooses among fewer.
      words("HRANDFIELD", on, "100"),
      words("HRANDFIELD", on, "100", "VALUES"),
      words(fc.constantFrom("HKEYS", "HLEN", "HGETALL"), on),
    ),
  (on) =>
    fc.oneof(
      words("SET", on, word),
      words("SET", on, word, fc.constantFrom("NX", "xx", "KEEP"), "PX", ttl),
      words(fc.constantFrom("GET", "INCR", "DECR"), on),
      words(fc.constantFrom("INCRBY", "DECRBY"), on, increment),
    ),
  (on) =>
    fc.oneof(
      words("RPUSH", on, item, item),
      words("LREM", on, fc.constantFrom("0", "1", "-1", "-2", "x"), item),
      words(fc.constantFrom("LRANGE", "LTRIM"), on, place, place),
      words("LPOS", on, item),
      words("LLEN", on),
    ),
  (on) =>
    fc.oneof(
      words("ZADD", on, score, word, score, holder),
      words("ZREM", on, word, holder),
      words("ZSCORE", on, holder),
      words("ZMSCORE", on, holder, word),
      words("ZRANGE", on, place, place),
      words("zrange", on, "0", "-1", fc.constantFrom("WITHSCORES", "withscores", "BACKWARDS")),
      words("zrange", on, bound, bound, "BYSCORE", "LIMIT", place, place, "WITHSCORES"),
      words("ZRANGE", on, bound, bound, fc.constantFrom("byscore", "LIMIT")),
      words("ZCARD", on),
      words("ZCOUNT", on, bound, bound),
      words("ZREMRANGEBYRANK", on, place, place),
    ),
];

const onAnyType: CommandsOn = (on) =>
  fc.oneof(
    words("PEXPIRE", on, ttl),
    words(fc.constantFrom("TYPE", "PTTL", "PERSIST"), on),
    words(fc.constantFrom("DEL", "EXISTS"), on, on),
    words("PUBLISH", channel, word),
    words(fc.constantFrom("GET", "HSET", "NOSUCH", "PEXPIRE", "LREM"), word),
  );

export function words(...parts: (string | fc.Arbitrary<string>)[]): fc.Arbitrary<string[]> {
  return fc.tuple(...parts.map((part) => (typeof part === "string" ? fc.constant(part) : part)));
}

/** Whatever else is done to a key, by whomever; and sometimes the server is full. */
export function meanwhile(on: fc.Arbitrary<string>): fc.Arbitrary<Step> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.oneof(...[...families, onAnyType].map((commandsOn) => commandsOn(on))) },
    { weight: 1, arbitrary: fc.record({ full: fc.boolean() }) },
  );
}

/** Some steps are done twice, at once or after the next one, as a client's resent commands are. */
export function withRepeats(step: fc.Arbitrary<Step>): fc.Arbitrary<readonly Step[]> {
  return fc
    .array(fc.tuple(step, fc.constantFrom(0, 0, 0, 1, 2)), { minLength: 1, maxLength: 60, size: "max" })
    .map((steps) =>
      steps.flatMap(([one, again], at) => [one, ...(again > 0 ? [steps[at + 1 - again]?.[0] ?? one] : [])]),
    );
}

/** Commands for one type of value, mostly on one key. */
export const commandHistory: fc.Arbitrary<readonly Step[]> = fc.constantFrom(...families).chain((family) => {
  const on = fc.constantFrom("key", "key", "key", "other");
  const command = fc.oneof({ weight: 4, arbitrary: family(on) }, { weight: 1, arbitrary: onAnyType(on) });
  return fc.array(command, { minLength: 1, maxLength: 60, size: "max" });
});
