import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Holdfast } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { FeedSnapshot, LockDetail } from "../../../src/inspector/format.js";
import { guard } from "../../../test/support/run/guard.js";
import { until } from "../../../test/support/run/until.js";
import { freePort } from "../../../test/support/servers/free-port.js";
import { type RedisServer, startRedis } from "../../../test/support/servers/redis-server.js";

const program = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "holdfast-inspect-"));
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
afterAll(() => rmSync(folder, { recursive: true }));

/** `holdfast inspect` as a process of its own. */
class Inspect {
  out = "";
  err = "";
  readonly child: ChildProcess;
  readonly exited: Promise<number | NodeJS.Signals | null>;

  constructor(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    this.child = spawn(process.execPath, [program, "inspect", ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...env },
    });
    const { pid = 0, stdout, stderr } = this.child;
    const release = guard(pid);
    stdout?.on("data", (text) => (this.out += text));
    stderr?.on("data", (text) => (this.err += text));
    this.exited = new Promise((resolve) => {
      this.child.once("close", (code, signal) => {
        release();
        resolve(signal ?? code);
      });
    });
    closing.push(() => {
      this.child.kill("SIGKILL");
      return this.exited;
    });
  }

  /** The address of the page, once it is there. */
  async url(): Promise<URL> {
    await until(() => this.out.includes("\n") || this.child.exitCode !== null);
    return new URL(this.out.trim());
  }

  async ask(search: string, init: RequestInit = {}): Promise<Response> {
    const url = await this.url();
    const token = new URLSearchParams(url.hash.slice(1)).get("token") ?? "";
    const headers = { authorization: `Bearer ${token}`, ...init.headers };
    return fetch(new URL(search, url), { ...init, headers });
  }
}

async function server(): Promise<RedisServer> {
  const started = await startRedis();
  closing.push(() => started.stop());
  return started;
}

describe("holdfast inspect", () => {
  it("prints where the page is, on a free port of this machine, and shows what is held until it is interrupted", async () => {
    const { port } = await server();
    const redis = new Redis(port);
    const holdfast = new Holdfast(ioredisDriver(redis), { presence: { app: "billing", everyMs: 1_000 } });
    closing.push(async () => {
      await holdfast.close();
      redis.disconnect();
    });
    const lease = await holdfast.getLock("order:42").lock();
    const inspect = new Inspect(["--url", `redis://127.0.0.1:${port}`, "--allow-unlock"]);
    const url = await inspect.url();
    expect(url.href).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{43}$/);
    const shown = async () => (await (await inspect.ask("?snapshot")).json()) as FeedSnapshot;
    await until(async () => (await shown()).locks.length === 1);
    const { lock, unlock } = (await (await inspect.ask("?lock=order:42")).json()) as LockDetail;
    expect(lock?.holders[0]).toMatchObject({ holder: lease.holder, client: { app: "billing" } });
    expect(unlock).toBe(`holdfast unlock --holder ${lease.holder} -- order:42`);
    const headers = { "holdfast-seen": lock?.seen ?? "" };
    const freed = await inspect.ask("?free=order:42&reason=stuck", { method: "POST", headers });
    expect(await freed.json()).toEqual({ outcome: "released", now: null });
    await until(() => inspect.err.includes('lock "order:42" freed by force: actor "'));
    expect(inspect.err).toContain(`reason "stuck", holders ["${lease.holder}"]`);
    expect(inspect.err).not.toContain(url.hash.slice("#token=".length));
    inspect.child.kill("SIGINT");
    expect(await inspect.exited).toBe(0);
  });

  it.each(["SIGINT", "SIGTERM"] as const)(
    "ends with 0 by %s, with a feed open and Redis away",
    async (signal) => {
      const inspect = new Inspect(["--url", `redis://127.0.0.1:${await freePort()}`]);
      const feed = await inspect.ask("?feed");
      const reader = feed.body?.getReader();
      expect(new TextDecoder().decode((await reader?.read())?.value)).toContain("ECONNREFUSED");
      inspect.child.kill(signal);
      expect(await inspect.exited).toBe(0);
    },
  );

  it("serves the page while Redis is away, says why, and shows what is there once it has come", async () => {
    const redis = await server();
    await redis.kill();
    const inspect = new Inspect(["--url", redis.url]);
    expect((await inspect.ask("")).status).toBe(200);
    const shown = async () => (await (await inspect.ask("?snapshot")).json()) as FeedSnapshot;
    expect((await shown()).away?.reason).toContain("ECONNREFUSED");
    await redis.restart();
    await until(async () => (await shown()).away === null);
    expect((await shown()).events.map(({ type }) => type)).toEqual(["redis-away", "redis-back"]);
  });

  it("does not print the token of a file, and takes it", async () => {
    const file = join(folder, "token");
    writeFileSync(file, "t".repeat(40), { mode: 0o600 });
    const inspect = new Inspect(["--url", "redis://127.0.0.1:1", "--token-file", file, "--json"]);
    await until(() => inspect.out.includes("\n"));
    const { url } = JSON.parse(inspect.out) as { url: string };
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=$/);
    expect(inspect.out + inspect.err).not.toContain("t".repeat(40));
    const headers = { authorization: `Bearer ${"t".repeat(40)}` };
    expect((await fetch(new URL("?me", url), { headers })).status).toBe(200);
  });

  it("opens a browser, which leads to the page, and no argument of any process has the token", async () => {
    const seen = join(folder, "opened");
    const browser = join(folder, "browser.mjs");
    writeFileSync(
      browser,
      `#!${process.execPath}\nimport { readFileSync, writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(seen)}, JSON.stringify([process.argv.slice(2), readFileSync(process.argv[2], "utf8")]));\n`,
      { mode: 0o700 },
    );
    const inspect = new Inspect(["--url", "redis://127.0.0.1:1", "--open"], { BROWSER: browser });
    const url = await inspect.url();
    const read = () => {
      try {
        return JSON.parse(readFileSync(seen, "utf8")) as [string[], string];
      } catch {
        return undefined;
      }
    };
    await until(() => read() !== undefined);
    const [args, html] = read() ?? [[], ""];
    expect(html).toContain(url.href);
    expect(args.join(" ")).not.toContain(url.hash.slice("#token=".length));
    const own = readFileSync(`/proc/${inspect.child.pid}/cmdline`, "utf8");
    expect(own).not.toContain(url.hash.slice("#token=".length));
  });

  it("puts the file where BROWSER says", async () => {
    const seen = join(folder, "args");
    const browser = join(folder, "args.sh");
    writeFileSync(browser, `#!/bin/sh\nprintf '%s\\n' "$@" > ${seen}.new && mv ${seen}.new ${seen}\n`, {
      mode: 0o700,
    });
    const inspect = new Inspect(["--url", "redis://127.0.0.1:1", "--open"], {
      BROWSER: `${browser} --app=%s --new`,
    });
    await inspect.url();
    await until(() => existsSync(seen));
    expect(readFileSync(seen, "utf8")).toMatch(/^--app=\/.*\/open\.html\n--new\n$/);
  });

  it("shows the page where no browser can be opened", async () => {
    const inspect = new Inspect(["--url", "redis://127.0.0.1:1", "--open"], {
      TMPDIR: join(folder, "missing"),
    });
    await until(() => inspect.err.includes("no browser could be opened: ENOENT"));
    expect((await inspect.ask("")).status).toBe(200);
  });

  it("ends with 64 where its port is taken", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    closing.push(() => taken.close());
    const { port } = taken.address() as AddressInfo;
    const inspect = new Inspect(["--url", "redis://127.0.0.1:1", "--port", String(port)]);
    expect(await inspect.exited).toBe(64);
    expect(inspect.err).toContain(`the page can not listen at 127.0.0.1:${port}`);
  });
});
