import { existsSync } from "node:fs";
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { watchLeaks } from "../support/run/leaks.js";
import { until } from "../support/run/until.js";
import { type RedisServer, startMasters, startRedis } from "../support/servers/redis-server.js";
import { childPrograms } from "../support/worlds/child-programs.js";

const servers: RedisServer[] = [];

watchLeaks();
afterEach(() => Promise.all(servers.splice(0).map((server) => server.stop())));
const startProgram = childPrograms();

async function start(...args: Parameters<typeof startRedis>): Promise<RedisServer> {
  const server = await startRedis(...args);
  servers.push(server);
  return server;
}

function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function refuses(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(false);
    });
    socket.once("error", () => resolve(true));
  });
}

describe("a server for tests", () => {
  it("answers, keeps nothing on disk, and leaves nothing when it is stopped", async () => {
    const server = await start();
    const client = server.client();
    await client.set("key", "value");
    const [, folder = ""] = (await client.config("GET", "dir")) as string[];
    expect(await client.config("GET", "save")).toEqual(["save", ""]);
    const { pid, port } = server;
    expect(runs(pid)).toBe(true);
    await server.stop();
    expect([runs(pid), await refuses(port), existsSync(folder), client.status]).toEqual([
      false,
      true,
      false,
      "end",
    ]);
    await server.stop();
  });

  it("can be killed and restarted on its port, and is then empty", async () => {
    const server = await start();
    const client = server.client();
    await client.set("key", "value");
    const { pid } = server;
    await server.kill();
    expect([runs(pid), await refuses(server.port)]).toEqual([false, true]);
    await server.restart();
    expect(server.pid).not.toBe(pid);
    expect(await client.get("key")).toBeNull();
  });

  it("can be paused: its port still takes connections, but nobody answers until it goes on", async () => {
    const server = await start();
    const client = server.client();
    await client.ping();
    await server.pause();
    let answered = false;
    const answer = client.ping().then(() => {
      answered = true;
    });
    expect(await refuses(server.port)).toBe(false);
    expect(answered).toBe(false);
    server.resume();
    await answer;
  });

  it("is also stopped while it is paused", async () => {
    const server = await start();
    const { pid } = server;
    await server.pause();
    await server.stop();
    expect(runs(pid)).toBe(false);
  });

  it("can ask for a password and take further arguments", async () => {
    const server = await start({ password: "secret", args: ["--maxmemory", "5mb"] });
    expect(server.url).toBe(`redis://:secret@127.0.0.1:${server.port}`);
    const client = server.client();
    expect(await client.config("GET", "maxmemory")).toEqual(["maxmemory", String(5 * 1024 ** 2)]);
    await expect(server.client({ password: "wrong" }).ping()).rejects.toThrow("WRONGPASS");
    await server.restart();
    expect(await client.ping()).toBe("PONG");
  });

  it("says what is wrong with its arguments", async () => {
    await expect(start({ args: ["--no-such-option", "1"] })).rejects.toThrow(/no-such-option/);
  });

  it("can be one of several independent ones", async () => {
    const masters = await startMasters(3);
    servers.push(...masters);
    expect(new Set(masters.flatMap(({ port, pid }) => [port, pid])).size).toBe(6);
  });

  it.each(["SIGKILL", "exit"])("does not outlive the process that started it (%s)", async (end) => {
    const starter = await startProgram("server-starter", {});
    const pid = Number(starter.events.find(({ event }) => event === "ready")?.["pid"]);
    expect(runs(pid)).toBe(true);
    if (end === "exit") await starter.ask("exit").catch(() => undefined);
    await starter.stop();
    await until(() => !runs(pid));
  });
});
