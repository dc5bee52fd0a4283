import { type CommandServer, type MemoryCommands, parseInteger, parseRange } from "./command.js";
import { numberText, parseNumber } from "./number-text.js";
import { CommandError, type Reply } from "./reply.js";

export const sortedSetCommands: MemoryCommands = {
  ZCARD: {
    arity: 2,
    effect: "none",
    run: ({ keyspace }, key) => keyspace.get(key, "zset")?.size ?? 0,
  },
  ZSCORE: {
    arity: 3,
    effect: "none",
    run({ keyspace }, key, member) {
      const score = keyspace.get(key, "zset")?.get(member);
      return score === undefined ? null : numberText(score);
    },
  },
  ZMSCORE: {
    arity: -3,
    effect: "none",
    run({ keyspace }, key, ...members) {
      const set = keyspace.get(key, "zset");
      return members.map((member) => {
        const score = set?.get(member);
        return score === undefined ? null : numberText(score);
      });
    },
  },
  ZRANGE: {
    arity: -4,
    effect: "none",
    run: zrange,
  },
  ZRANGEBYSCORE: {
    arity: -4,
    effect: "none",
    run: zrangebyscore,
  },
  ZCOUNT: {
    arity: 4,
    effect: "none",
    run: zcount,
  },
  ZADD: {
    arity: -4,
    effect: "may-grow",
    run: zadd,
  },
  ZINCRBY: {
    arity: 4,
    effect: "may-grow",
    run: zincrby,
  },
  ZREM: {
    arity: -3,
    effect: "writes",
    run: zrem,
  },
  ZREMRANGEBYRANK: {
    arity: 4,
    effect: "writes",
    run: zremrangebyrank,
  },
};

interface RangeOptions {
  byScore: boolean;
  withScores: boolean;
  limit: readonly [offset: string, count: string] | undefined;
}

function rangeOptions(words: readonly string[]): RangeOptions {
  const options: RangeOptions = { byScore: false, withScores: false, limit: undefined };
  for (let at = 0; at < words.length; at += 1) {
    const [word, offset, count] = [words[at]?.toUpperCase(), words[at + 1], words[at + 2]];
    if (word === "WITHSCORES") options.withScores = true;
    else if (word === "BYSCORE") options.byScore = true;
    else if (word === "LIMIT" && offset !== undefined && count !== undefined) {
      options.limit = [offset, count];
      at += 2;
    } else throw new CommandError("ERR syntax error");
  }
  return options;
}

function zrange(server: CommandServer, key: string, start: string, stop: string, ...words: string[]): Reply {
  const { byScore, withScores, limit } = rangeOptions(words);
  if (limit !== undefined && !byScore) {
    throw new CommandError(
      "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
    );
  }
  const offset = parseInteger(limit?.[0] ?? "0");
  const count = parseInteger(limit?.[1] ?? "-1");
  const within = byScore ? isBetween(start, stop) : undefined;
  const take = byScore ? undefined : parseRange(start, stop);
  const all = ordered(server, key);
  const chosen = take?.(all) ?? all.filter(([, score]) => within?.(score));
  const end = count < 0 ? undefined : offset + count;
  const limited = offset < 0 ? [] : chosen.slice(offset, end);
  return limited.flatMap(([member, score]) => (withScores ? [member, numberText(score)] : [member]));
}

function zrangebyscore(
  server: CommandServer,
  key: string,
  min: string,
  max: string,
  ...words: string[]
): Reply {
  if (rangeOptions(words).byScore) throw new CommandError("ERR syntax error");
  return zrange(server, key, min, max, "BYSCORE", ...words);
}

function zcount({ keyspace }: CommandServer, key: string, min: string, max: string): Reply {
  const within = isBetween(min, max);
  return [...(keyspace.get(key, "zset")?.values() ?? [])].filter(within).length;
}

function zadd({ keyspace }: CommandServer, key: string, ...pairs: string[]): Reply {
  if (pairs.length % 2 !== 0) throw new CommandError("ERR syntax error");
  const scores = pairs.filter((_, at) => at % 2 === 0).map((score) => parseScore(score));
  const set = keyspace.get(key, "zset") ?? new Map<string, number>();
  const sizeBefore = set.size;
  scores.forEach((score, at) => void set.set(pairs[2 * at + 1] ?? "", score));
  if (sizeBefore === 0) keyspace.set(key, "zset", set);
  return set.size - sizeBefore;
}

function zincrby(server: CommandServer, key: string, increment: string, member: string): Reply {
  const score = (server.keyspace.get(key, "zset")?.get(member) ?? 0) + parseScore(increment);
  if (Number.isNaN(score)) throw new CommandError("ERR resulting score is not a number (NaN)");
  const text = numberText(score);
  zadd(server, key, text, member);
  return text;
}

function zrem({ keyspace }: CommandServer, key: string, ...members: string[]): Reply {
  const set = keyspace.get(key, "zset");
  if (set === undefined) return 0;
  const removed = members.filter((member) => set.delete(member)).length;
  if (set.size === 0) keyspace.delete(key);
  return removed;
}

function zremrangebyrank(server: CommandServer, key: string, start: string, stop: string): Reply {
  const take = parseRange(start, stop);
  const members = take(ordered(server, key)).map(([member]) => member);
  return zrem(server, key, ...members);
}

function ordered({ keyspace }: CommandServer, key: string): [member: string, score: number][] {
  return [...(keyspace.get(key, "zset") ?? [])].sort(byScoreThenBytes);
}

function isBetween(min: string, max: string): (score: number) => boolean {
  const [lowest, highest] = [parseBound(min), parseBound(max)];
  return (score) =>
    (lowest.included ? score >= lowest.score : score > lowest.score) &&
    (highest.included ? score <= highest.score : score < highest.score);
}

/** `(5` excludes 5 itself. */
function parseBound(text: string): { readonly score: number; readonly included: boolean } {
  const included = !text.startsWith("(");
  return { score: parseScore(included ? text : text.slice(1), "ERR min or max is not a float"), included };
}

function parseScore(text: string, complaint = "ERR value is not a valid float"): number {
  const score = parseNumber(text);
  if (score === undefined || Number.isNaN(score)) throw new CommandError(complaint);
  return score;
}

function byScoreThenBytes(left: readonly [string, number], right: readonly [string, number]): number {
  return left[1] - right[1] || (left[0] < right[0] ? -1 : 1);
}
