import { describe, expect, test } from "vitest";
import { readTarget, tellTarget } from "../src/connection/target.js";

describe("a URL of Redis", () => {
  test.each([
    ["redis://h", { kind: "server", tls: false, db: 0, address: { host: "h", port: 6379 }, login: {} }],
    [
      "rediss://ada:s%40cret@h:7000/5",
      {
        kind: "server",
        tls: true,
        db: 5,
        address: { host: "h", port: 7000 },
        login: { username: "ada", password: "s@cret" },
      },
    ],
    [
      "redis://:pw@[::1]:6380",
      { kind: "server", address: { host: "::1", port: 6380 }, login: { password: "pw" } },
    ],
    [
      "redis://a:p@w@h",
      { kind: "server", address: { host: "h", port: 6379 }, login: { username: "a", password: "p@w" } },
    ],
    ["REDISS://h", { kind: "server", tls: true, address: { host: "h", port: 6379 } }],
    ["unix:///run/redis.sock?db=3", { kind: "socket", path: "/run/redis.sock", db: 3, tls: false }],
    [
      "redis+sentinel://u:p@a:26379,b/main/2",
      {
        kind: "sentinel",
        master: "main",
        db: 2,
        sentinels: [
          { host: "a", port: 26_379 },
          { host: "b", port: 26_379 },
        ],
        login: { username: "u", password: "p" },
      },
    ],
    [
      "rediss+cluster://a:7000,b",
      {
        kind: "cluster",
        tls: true,
        nodes: [
          { host: "a", port: 7_000 },
          { host: "b", port: 6_379 },
        ],
      },
    ],
  ])("%s is read", (url, target) => {
    expect(readTarget(url)).toMatchObject(target);
  });

  test.each([
    ["localhost:6379", "it is not a URL"],
    ["http://h", 'the scheme "http://" is unknown'],
    ["redis://", "it names no host"],
    ["redis://a,b", "only redis+sentinel:// and redis+cluster:// take several hosts"],
    ["redis://h:99999", '"99999" is not a port'],
    ["redis://h/five", '"five" is not the number of a database'],
    ["redis://h/1/2", "only the number of a database may follow the host"],
    ["redis://h?x=1", "this URL takes no ?"],
    ["unix://run/redis.sock", "the path of a socket must begin with /"],
    ["unix:///a?dbs=1", "only ?db= may follow the path"],
    ["redis+sentinel://a", "it names no master"],
    ["redis+cluster://a/1", "a cluster has no databases"],
    ["redis://u:100%@h", "a % in it is not followed by two hexadecimal digits"],
  ])("%s is refused, and told why", (url, why) => {
    expect(() => readTarget(url)).toThrow(why);
  });

  test("is never told with its login, neither where it is right nor where it is wrong", () => {
    for (const url of [
      "redis://ada:geheim@h",
      "redis+sentinel://ada:geheim@h/m",
      "redis+cluster://ada:geheim@h",
    ])
      expect(tellTarget(readTarget(url))).not.toMatch(/ada|geheim/);
    for (const url of [
      "redis://ada:geheim%@h",
      "redis://ada:geheim@h:0",
      "gopher://ada:geheim@h",
      "redis://ada:geheim@",
    ]) {
      const told = attempt(() => readTarget(url));
      expect(told).toContain("the URL of Redis is wrong");
      expect(told).not.toContain("geheim");
    }
  });
});

function attempt(act: () => unknown): string {
  try {
    return JSON.stringify(act());
  } catch (error) {
    return String(error);
  }
}
