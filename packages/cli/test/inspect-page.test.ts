import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Holdfast } from "holdfast";
import { memoryDriver } from "holdfast/memory";
import { afterEach, describe, expect, it } from "vitest";
import { until } from "../../../test/support/run/until.js";
import { AllowedHosts } from "../src/inspect/hosts.js";
import { openPage } from "../src/inspect/open-page.js";
import { makePageServer, type PageOptions } from "../src/inspect/page-server.js";
import { newToken, readToken } from "../src/inspect/token.js";
import { run } from "../src/program.js";

const folder = mkdtempSync(join(tmpdir(), "holdfast-inspect-"));
const token = newToken();
const unseen = "x".repeat(43);
const open: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/** The page on a free port. */
async function page(options: Partial<PageOptions> = {}): Promise<number> {
  const holdfast = new Holdfast(memoryDriver());
  const hosts = new AllowedHosts("127.0.0.1", ["ops.example"]);
  const made = makePageServer(holdfast, {
    hosts,
    token,
    mayFree: true,
    group: "default",
    log: () => undefined,
    ...options,
  });
  made.server.listen(0, "127.0.0.1");
  await once(made.server, "listening");
  open.push(async () => {
    made.close();
    await holdfast.close();
  });
  return (made.server.address() as AddressInfo).port;
}

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function ask(port: number, path: string, { method = "GET", headers = {} }: Sent = {}) {
  const asked = send({ port, path, method, host: "127.0.0.1", headers: { host: "localhost", ...headers } });
  asked.end();
  const [response] = await once(asked, "response");
  let body = "";
  for await (const part of response) body += String(part);
  return { status: response.statusCode as number, headers: response.headers, body };
}

const bearer = (text: string) => ({ authorization: `Bearer ${text}` });

describe("S1: each request names a host that is allowed", () => {
  it.each([
    ["localhost", 200],
    ["localhost:43121", 200],
    ["LOCALHOST", 200],
    ["127.0.0.1:1", 200],
    ["[::1]:8080", 200],
    ["ops.example:80", 200],
    ["evil.example", 421],
    ["evil.example:80", 421],
    ["localhost.evil.example", 421],
    ["ops.example.evil.example", 421],
    ["127.0.0.1.evil.example", 421],
    ["127.0.0.2", 421],
    ["localhost@evil.example", 421],
    ["[::1]evil.example", 421],
  ])("%s: %i", async (host, status) => {
    const port = await page();
    for (const path of ["/", "/?me", "/?asset=x", "/?free=a", "/other"]) {
      for (const method of ["GET", "POST", "OPTIONS"]) {
        const answered = await ask(port, path, { method, headers: { ...bearer(token.text), host } });
        if (status === 421) expect([answered.status, answered.body]).toEqual([421, ""]);
        else expect(answered.status).not.toBe(421);
      }
    }
    expect((await ask(port, "/", { headers: { host } })).status).toBe(status);
  });
});

describe("S2: the token opens the page", () => {
  it("is of 256 bits, and another each time", () => {
    const tokens = new Set(Array.from({ length: 100 }, () => newToken().text));
    expect(tokens.size).toBe(100);
    for (const text of tokens) expect(Buffer.from(text, "base64url")).toHaveLength(32);
  });

  it("is wanted for all that has data, and for nothing else, as a browser asks for the page without it", async () => {
    const port = await page();
    for (const path of ["/", "/?", "/?asset=nothing"]) expect((await ask(port, path)).status).not.toBe(401);
    for (const path of ["/?me", "/?snapshot", "/?feed", "/?lock=a", "/?asset=a&me", "/?nothing"]) {
      const { status, body, headers } = await ask(port, path);
      expect([path, status, JSON.parse(body)]).toEqual([
        path,
        401,
        { error: "the token is missing or wrong: open the URL that holdfast inspect has printed" },
      ]);
      expect(headers["set-cookie"]).toBeUndefined();
    }
    expect((await ask(port, "/", { method: "POST" })).status).toBe(401);
  });

  it.each([
    ["", 401],
    [token.text.slice(0, -1), 401],
    [`${token.text}x`, 401],
    [newToken().text, 401],
    [`${token.text} x`, 401],
    [token.text, 200],
  ])("Bearer %s: %i", async (text, status) => {
    expect((await ask(await page(), "/?me", { headers: bearer(text) })).status).toBe(status);
  });

  it("counts in no other place: a cookie is sent to all ports of a host, and a query stands in logs", async () => {
    const port = await page();
    const cookie = { cookie: `token=${token.text}` };
    const basic = { authorization: `Basic ${Buffer.from(`x:${token.text}`).toString("base64")}` };
    const statuses = [
      await ask(port, "/?me", { headers: cookie }),
      await ask(port, "/?me", { headers: basic }),
      await ask(port, `/?me&token=${token.text}`),
    ].map(({ status }) => status);
    expect(statuses).toEqual([401, 401, 401]);
  });

  it("of a file is read from it, and a file that others may read is told", () => {
    const file = join(folder, "token");
    writeFileSync(file, `${"t".repeat(32)}\n`);
    chmodSync(file, 0o644);
    expect(readToken(file)).toEqual({ text: "t".repeat(32), warning: expect.stringContaining("chmod 600") });
    chmodSync(file, 0o600);
    expect(readToken(file)).toEqual({ text: "t".repeat(32) });
  });

  it.each([["short"], [`${"t".repeat(32)} two words`], ["t".repeat(513)], [""]])(
    "of a file may not be %j",
    (text) => {
      const file = join(folder, "bad-token");
      writeFileSync(file, text, { mode: 0o600 });
      expect(() => readToken(file)).toThrow("must have 32 to 512");
      expect(() => readToken(join(folder, "missing"))).toThrow("--token-file: ENOENT");
    },
  );
});

describe("S3, S5: what changes something", () => {
  const free = async (port: number, headers: Readonly<Record<string, string>> = {}) => {
    const all = { ...bearer(token.text), "holdfast-seen": unseen, ...headers };
    return (await ask(port, "/?free=a", { method: "POST", headers: all })).status;
  };

  it("is refused without --allow-unlock", async () => {
    const port = await page({ mayFree: false });
    expect(await free(port)).toBe(403);
    expect(JSON.parse((await ask(port, "/?me", { headers: bearer(token.text) })).body).role).toBe("read");
  });

  it("is taken with the token from the page and from a command line, and from no other page", async () => {
    const port = await page();
    expect(await free(port)).toBe(400);
    expect(await free(port, { "sec-fetch-site": "same-origin" })).toBe(400);
    expect(await free(port, { "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await free(port, { origin: "http://evil.example" })).toBe(403);
  });
});

it("nothing but the page is at this address", async () => {
  const port = await page();
  const paths = ["/favicon.ico", "/x?me", "//?me", "/%2e%2e/etc/passwd"];
  const answers = await Promise.all(paths.map((path) => ask(port, path, { headers: bearer(token.text) })));
  expect(answers.map(({ status, body }) => [status, body])).toEqual(paths.map(() => [404, ""]));
});

describe("--open", () => {
  it("gives the browser a file that only this user may read, and no token", async () => {
    const seen = join(folder, "opened");
    const browser = join(folder, "browser.mjs");
    writeFileSync(
      browser,
      `#!${process.execPath}\nimport { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(seen)}, JSON.stringify(process.argv.slice(2)));\n`,
      { mode: 0o700 },
    );
    const url = `http://127.0.0.1:1/#token=${token.text}`;
    const forget = openPage(url, { BROWSER: `${browser} --new-window:other` }, () => undefined);
    await until(() => existsSync(seen) && readFileSync(seen, "utf8").endsWith("]"));
    const [flag, file = ""] = JSON.parse(readFileSync(seen, "utf8")) as string[];
    expect([flag, (statSync(file).mode & 0o777).toString(8)]).toEqual(["--new-window", "600"]);
    expect((statSync(dirname(file)).mode & 0o777).toString(8)).toBe("700");
    expect(file).not.toContain(token.text);
    expect(readFileSync(file, "utf8")).toContain(`location.replace(${JSON.stringify(url)})`);
    forget();
    expect(existsSync(dirname(file))).toBe(false);
  });

  it("says why where there is no browser", async () => {
    const complaints: string[] = [];
    const forget = openPage("http://x/", { BROWSER: join(folder, "none") }, (why) => complaints.push(why));
    await until(() => complaints.length > 0);
    forget();
    expect(complaints).toEqual([expect.stringContaining("ENOENT")]);
  });
});

describe("a command line that can not be meant", () => {
  it.each([
    [["--port", "x"], '--port must be a number from 0 to 65535, got "x"'],
    [["--port", "65536"], "--port must be a number"],
    [["--host", "0.0.0.0"], "--host 0.0.0.0 can be reached from other machines"],
    [["--host", "10.1.2.3"], "set the token that opens the page with --token-file"],
    [["--host", "::"], "set the token that opens the page with --token-file"],
    [["--allow-host", "http://ops.example"], "--allow-host takes the name of a host"],
    [["--allow-host", "ops.example:80"], "without a scheme and a port"],
    [["--token-file", "/nowhere/token"], "--token-file: ENOENT"],
    [["--url", "redis://127.0.0.1:x"], "the URL of Redis is wrong"],
    [["--colour"], "unknown option '--colour'"],
  ])("%j ends with 64 before anything is done", async (args, message) => {
    let [out, err] = ["", ""];
    const surroundings = {
      env: {},
      out: { write: (text: string) => (out += text) },
      err: { write: (text: string) => (err += text) },
    };
    expect(await run(["inspect", ...args], surroundings)).toBe(64);
    expect([out, err]).toEqual(["", expect.stringContaining(message)]);
  });
});

it("leaves no folder of the tests", () => {
  rmSync(folder, { recursive: true });
  expect(existsSync(folder)).toBe(false);
});
