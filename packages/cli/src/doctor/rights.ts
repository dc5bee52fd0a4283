/** A right that the ACL line of docs/guide/servers.md gives. */
export interface Right {
  /** The name of the right in ACLs. */
  readonly name: string;
  /**
   * A call that tests whether the command is allowed. It changes only the key of the check. Undefined if the test would change the
   * connection; the check `messages` tests subscriptions.
   */
  readonly call?: readonly string[];
  /** `cluster`: needed only in a cluster. `less`: locks work without it, but with a drawback, which `without` names. */
  readonly need: "always" | "cluster" | "less";
  readonly without?: string;
}

/** In calls, these stand for the key and the channel of the check. */
export const KEY = "KEY";
export const CHANNEL = "CHANNEL";

const NO_SCRIPT = "0".repeat(40);
/** If `DEL` is not allowed, the remaining key ends by itself after this time. */
const ENDS_MS = "60000";

const on = (command: string, ...args: string[]): Right => ({
  name: command.toLowerCase(),
  call: [command, KEY, ...args],
  need: "always",
});
const always = (name: string, ...call: string[]): Right => ({
  name,
  need: "always",
  ...(call.length === 0 ? {} : { call }),
});
const less = (name: string, without: string, ...call: string[]): Right => ({
  name,
  need: "less",
  without,
  call,
});
const inCluster = (name: string, ...call: string[]): Right => ({
  name,
  need: "cluster",
  ...(call.length === 0 ? {} : { call }),
});

const NO_COUNT = "waiting processes are not reported";

/** All rights, line by line as in docs/guide/servers.md. The tests begin with `set`, so that no key without a TTL is created. */
export const rightLines: readonly (readonly Right[])[] = [
  [
    always("eval", "EVAL", "return 1", "0"),
    less("evalsha", "each call sends the text of its script", "EVALSHA", NO_SCRIPT, "0"),
    always("time", "TIME"),
    on("TYPE"),
    on("EXISTS"),
    on("DEL"),
    on("PERSIST"),
    on("PEXPIRE", ENDS_MS),
    on("PTTL"),
    on("GET"),
    on("SET", "v", "PX", ENDS_MS),
    on("STRLEN"),
    on("INCR"),
    on("INCRBY", "1"),
    on("DECRBY", "1"),
  ],
  [
    on("HGET", "f"),
    on("HSET", "f", "v"),
    on("HDEL", "f"),
    on("HEXISTS", "f"),
    on("HGETALL"),
    on("HKEYS"),
    on("HLEN"),
    on("HSTRLEN", "f"),
  ],
  [
    on("LINDEX", "0"),
    on("LLEN"),
    on("LPOS", "v"),
    on("LRANGE", "0", "0"),
    on("LREM", "0", "v"),
    on("LTRIM", "0", "0"),
    on("RPUSH", "v"),
    on("ZADD", "1", "v"),
    on("ZCARD"),
    on("ZCOUNT", "0", "0"),
    on("ZMSCORE", "v"),
    on("ZRANGE", "0", "0"),
    on("ZREM", "v"),
    on("ZREMRANGEBYRANK", "0", "0"),
    on("ZSCORE", "v"),
  ],
  [
    always("publish", "PUBLISH", CHANNEL, ""),
    inCluster("spublish", "SPUBLISH", CHANNEL, ""),
    always("subscribe"),
    always("unsubscribe"),
    inCluster("ssubscribe"),
    inCluster("sunsubscribe"),
  ],
  [
    always("ping", "PING"),
    always("hello"),
    always("auth"),
    always("select"),
    less("client|setname", "connections have no names", "CLIENT", "SETNAME", "holdfast-cli"),
    less(
      "client|id",
      "a Redis client that sends this command learns less about its connections",
      "CLIENT",
      "ID",
    ),
    less(
      "client|info",
      "a Redis client that sends this command learns less about its connections",
      "CLIENT",
      "INFO",
    ),
    less("info", "the server's version is not checked", "INFO", "server"),
    less("pubsub|numsub", NO_COUNT, "PUBSUB", "NUMSUB"),
  ],
  [
    less("wait", "replicas can not be asked to acknowledge", "WAIT", "0", "0"),
    inCluster("asking", "ASKING"),
    inCluster("readonly"),
    inCluster("readwrite"),
    inCluster("cluster|slots", "CLUSTER", "SLOTS"),
    inCluster("cluster|shards", "CLUSTER", "SHARDS"),
    inCluster("cluster|nodes", "CLUSTER", "NODES"),
    inCluster("cluster|info", "CLUSTER", "INFO"),
    inCluster("pubsub|shardnumsub", "PUBSUB", "SHARDNUMSUB"),
  ],
];

/** Commands that Redis 6.2 does not know: it refuses an ACL line that names them. */
export const UNKNOWN_TO_6 = ["spublish", "ssubscribe", "sunsubscribe"] as const;

/** The ACL patterns of the keys and channels of all locks whose names match this pattern. */
export function keyRights(pattern: string): readonly string[] {
  const tagged = pattern.includes("{") ? pattern : `{${pattern}`;
  const keys = pattern === tagged ? [pattern] : [pattern, tagged];
  return [
    ...keys.map((key) => `~${key}`),
    `~redisson_*:${tagged}`,
    `~holdfast_*:${tagged}`,
    `&redisson_*${tagged}`,
  ];
}

/** The whole ACL line of docs/guide/servers.md for the names that match a pattern, with placeholders for the user and the password. */
export function aclLine(pattern: string, user = "NAME", password = "PASSWORD"): readonly string[] {
  return [
    `ACL SETUSER ${user} on >${password} resetkeys resetchannels -@all`,
    `  ${keyRights(pattern).join(" ")}`,
    ...rightLines.map((line) => `  ${line.map(({ name }) => `+${name}`).join(" ")}`),
  ];
}
