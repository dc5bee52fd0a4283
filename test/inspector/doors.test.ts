import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { describe, expect, test } from "vitest";
import { assets } from "../../src/inspector/assets.js";
import { doors, type Sent } from "../support/worlds/doors.js";
import { inspecting, passing } from "../support/worlds/inspecting.js";

const open = inspecting();
const [asset = ""] = Object.keys(assets).filter((name) => name !== "index.html");
const ofPage = { "sec-fetch-site": "same-origin" };
const gzip = { "accept-encoding": "br, gzip" };
const digest = "x".repeat(43);

const requests: readonly (readonly [status: number, sent: Sent])[] = [
  [200, { search: "" }],
  [200, { search: "?" }],
  [200, { search: "", headers: gzip }],
  [200, { search: "", method: "HEAD" }],
  [200, { search: `?asset=${asset}` }],
  [200, { search: `?asset=${asset}`, headers: gzip }],
  [200, { search: `?asset=${asset}`, method: "HEAD" }],
  [404, { search: "?asset=app-ffffffff.js" }],
  [404, { search: "?asset=__proto__" }],
  [404, { search: "?asset=index.html" }],
  [200, { search: "?me" }],
  [200, { search: "?me=" }],
  [200, { search: "?snapshot" }],
  [200, { search: "?snapshot&match=order:*&sort=age&only=stale,jvm" }],
  [200, { search: "?feed", method: "HEAD" }],
  [200, { search: "?lock=a" }],
  [404, { search: "?nothing" }],
  [404, { search: "?page" }],
  [404, { search: "?__proto__" }],
  [404, { search: "?constructor" }],
  [400, { search: "?lock" }],
  [400, { search: "?lock=" }],
  [400, { search: `?lock=${"x".repeat(4_097)}` }],
  [400, { search: "?lock=%zz" }],
  [400, { search: "?lock=%ff" }],
  [400, { search: "?lock=%ed%a0%80" }],
  [400, { search: "?lock=a&lock=b" }],
  [400, { search: "?lock=a&me" }],
  [400, { search: "?feed=1" }],
  [400, { search: "?me=1" }],
  [400, { search: "?feed&sort=colour" }],
  [400, { search: "?feed&only=red" }],
  [400, { search: `?feed&match=${"x".repeat(1_001)}` }],
  [400, { search: "?feed&x=1" }],
  [405, { search: "", method: "POST" }],
  [405, { search: "", method: "OPTIONS" }],
  [405, { search: "?me", method: "PUT" }],
  [405, { search: "?feed", method: "DELETE" }],
  [405, { search: "?free=a" }],
  [405, { search: "?free=a", method: "OPTIONS" }],
  [405, { search: "?scan", method: "HEAD" }],
  [400, { search: "?free=a", method: "POST", headers: ofPage }],
  [400, { search: "?free=a", method: "POST", headers: { ...ofPage, "holdfast-seen": "x".repeat(42) } }],
  [400, { search: "?free=a", method: "POST", headers: { ...ofPage, "holdfast-seen": digest } }],
  [400, { search: `?free=a&reason=${"x".repeat(201)}`, method: "POST", headers: { ...ofPage } }],
  [400, { search: "?scan", method: "POST", headers: ofPage }],
];

describe("fetch and node answer alike:", () => {
  const named = requests.map(
    ([status, sent]) => [status, sent.method ?? "GET", sent.search.slice(0, 40), sent] as const,
  );
  test.each(named)("%i to %s %s", async (status, _, __, sent) => {
    const answered = [];
    for (const [, door] of doors) {
      const { time, locks } = open();
      const { body, ...rest } = await passing(time, door(locks, sent));
      // One embedded server after the other has another number, and another time.
      const same = body.replace(/"memory:\d+"/, '"memory"').replace(/"atMs":\d+/, '"atMs":0');
      answered.push({ ...rest, body: same });
    }
    const [first, ...others] = answered;
    expect(first?.status).toBe(status);
    for (const other of others) expect(other).toEqual(first);
    expect(first?.headers["content-security-policy"]).toContain("default-src 'none'");
    if (sent.method === "HEAD") expect(first?.body).toBe("");
    else if (status >= 400) expect(JSON.parse(first?.body ?? "")).toEqual({ error: expect.any(String) });
    if (status === 405)
      expect(first?.headers["allow"]).toBe(/free|scan/.test(sent.search) ? "POST" : "GET, HEAD");
  });

  test.each(doors)("%s: no other origin may read or ask for anything", async (_, door) => {
    const { time, locks } = open();
    const headers = { origin: "https://evil.example", "access-control-request-method": "POST" };
    const { status, headers: answered } = await passing(
      time,
      door(locks, { search: "?me", method: "OPTIONS", headers }),
    );
    expect([status, Object.keys(answered).filter((name) => name.startsWith("access-control"))]).toEqual([
      405,
      [],
    ]);
  });

  test.each(doors)(
    "%s: what has a name with a digest may be kept for a year, by the browser alone; nothing else",
    async (_, door) => {
      const { time, locks } = open();
      const cacheOf = async (search: string) =>
        (await passing(time, door(locks, { search }))).headers["cache-control"];
      expect([await cacheOf(""), await cacheOf(`?asset=${asset}`), await cacheOf("?me")]).toEqual([
        "no-store",
        "private, max-age=31536000, immutable",
        "no-store",
      ]);
    },
  );

  test.each(doors)("%s: a browser without gzip gets the page as it is", async (_, door) => {
    const { time, locks } = open();
    const plain = await passing(time, door(locks, { search: "" }));
    const zipped = await passing(time, door(locks, { search: "", headers: gzip }));
    expect(plain.body).toMatch(/^<!doctype html>/i);
    expect(plain.headers).not.toHaveProperty("content-encoding");
    expect(zipped.headers).toMatchObject({ "content-encoding": "gzip", vary: "accept-encoding" });
    expect(zipped.body).not.toBe(plain.body);
  });
});

describe("one request has one address:", () => {
  const free = `POST /locks?free=a HTTP/1.1`;
  const ofEvil = `Origin: http://evil.example\r\nHoldfast-Seen: ${digest}`;
  test.each([
    ["no lock with this key is known", `${free}\r\nHost: evil.example\r\n${ofEvil}`],
    ["two hosts", `${free}\r\nHost: evil.example\r\nHost: ops.example\r\n${ofEvil}`],
    ["two hosts", `${free}\r\nHost: ops.example\r\nhost: ops.example\r\n${ofEvil}`],
    ["two hosts", `POST http://evil.example/?free=a HTTP/1.1\r\nHost: ops.example\r\n${ofEvil}`],
    ["does not come from a page", `POST //evil.example/?free=a HTTP/1.1\r\nHost: ops.example\r\n${ofEvil}`],
    ["no lock with this key", `POST http://evil.example/?free=a HTTP/1.1\r\nHost: evil.example\r\n${ofEvil}`],
  ])("%s: %s [I4]", async (told, lines) => {
    const { time, locks } = open();
    const server = createServer((request, response) => locks.node(request, response));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
      socket.end(`${lines}\r\nConnection: close\r\n\r\n`);
      let answered = "";
      socket.on("data", (piece) => {
        answered += piece;
      });
      await passing(time, once(socket, "close"));
      expect(answered).toContain(told);
      expect(answered).toMatch(told.startsWith("does not") ? /^HTTP\/1.1 403/ : /^HTTP\/1.1 400/);
    } finally {
      server.close();
    }
  });
});
