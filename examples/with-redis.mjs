// @ts-check
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MAX_PORTS = 10;

/**
 * Runs an example with the URL of a Redis server: the one that REDIS_URL names, or a `redis-server` of its own, which is empty, writes
 * nothing to disk and ends with the example.
 *
 * @param {(url: string) => Promise<boolean>} example
 * @returns {Promise<void>} sets the exit code: 1 when the example answers false
 */
export async function withRedis(example) {
  const given = process.env["REDIS_URL"];
  const server = given === undefined ? await startServer() : undefined;
  try {
    process.exitCode = (await example(given ?? `redis://127.0.0.1:${server?.port}`)) ? 0 : 1;
  } finally {
    await server?.stop();
  }
}

/** Another program may take the free port first: then it tries the next. */
async function startServer() {
  for (let tries = 1; ; tries += 1) {
    const server = await tryPort(await freePort());
    if (server !== undefined) return server;
    if (tries === MAX_PORTS) throw new Error(`none of ${MAX_PORTS} free ports could be used by redis-server`);
  }
}

/** @param {number} port */
async function tryPort(port) {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-example-"));
  const options = { port, bind: "127.0.0.1", dir: folder, save: "", appendonly: "no" };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const server = spawn("redis-server", args, { stdio: ["ignore", "pipe", "inherit"] });
  const closed = new Promise((resolve) => server.once("close", resolve));
  // Also where the example is cut short by an error or by Ctrl+C: no server is left behind.
  const kill = () => {
    server.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  };
  const cutShort = () => process.exit(130);
  process.once("exit", kill).once("SIGINT", cutShort).once("SIGTERM", cutShort);
  const stop = async () => {
    kill();
    await closed;
    process.off("exit", kill).off("SIGINT", cutShort).off("SIGTERM", cutShort);
  };
  try {
    await once(server, "spawn");
  } catch {
    console.error(
      "redis-server was not found. Install it (apt-get install redis-server, brew install redis), or name a server that runs: REDIS_URL=redis://127.0.0.1:6379 npm start",
    );
    process.exit(1);
  }
  if (await isReady(server.stdout, closed)) return { port, stop };
  await stop();
  return undefined;
}

/**
 * @param {import("node:stream").Readable} output of the server, which says there when it is ready
 * @param {Promise<unknown>} closed
 * @returns {Promise<boolean>} false: the server has ended instead
 */
function isReady(output, closed) {
  return new Promise((resolve) => {
    let said = "";
    output.on("data", (text) => {
      said = `${said}${text}`.slice(-10_000);
      if (/ready to accept connections/i.test(said)) resolve(true);
    });
    closed.then(() => resolve(false));
  });
}

/** @returns {Promise<number>} */
async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") throw new Error("no port was given");
  return address.port;
}
