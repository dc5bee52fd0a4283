import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { guard, killNow } from "../run/guard.js";
import { freePort } from "../servers/free-port.js";

export interface Nginx {
  readonly port: number;
  /** Ends the process, removes its folder. */
  stop(): Promise<void>;
}

const MAX_PORTS = 10;
const POLL_MS = 10;
const TEMPORARY = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

/**
 * Starts the nginx that `npm run test:page` has found, as one process in the foreground that keeps all its files in a folder of its own.
 * @param inServer what stands in its `server` block, such as locations
 */
export async function startNginx(inServer: string): Promise<Nginx> {
  for (let tries = 1; ; tries += 1) {
    const started = await start(inServer, await freePort());
    if (typeof started !== "string") return started;
    // Another program took the port between our look at it and nginx's.
    if (!started.includes("Address already in use") || tries === MAX_PORTS) throw new Error(started);
  }
}

/** @returns what nginx has said where it has ended at once */
async function start(inServer: string, port: number): Promise<Nginx | string> {
  const { HOLDFAST_NGINX: program = "/usr/sbin/nginx" } = process.env;
  const folder = mkdtempSync(join(tmpdir(), "holdfast-nginx-"));
  const file = join(folder, "nginx.conf");
  mkdirSync(join(folder, "temporary"));
  writeFileSync(file, configuration(inServer, port, folder));
  const args = ["-p", folder, "-c", file, "-e", "stderr"];
  const child = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"] });
  let output = "";
  child.stderr.on("data", (text) => (output += text));
  const closed = once(child, "close");
  await once(child, "spawn");
  const release = guard(child.pid ?? 0, folder);
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) killNow(child.pid ?? 0);
    await closed;
    release();
    rmSync(folder, { recursive: true, force: true });
  };
  const isReady = () =>
    fetch(`http://127.0.0.1:${port}/is-ready`, { signal: AbortSignal.timeout(1_000) }).then(
      async (response) => (await response.text()) === folder,
      () => false,
    );
  while (!(await isReady())) {
    if (child.exitCode !== null || child.signalCode !== null || output.includes("[emerg]")) {
      await stop();
      return output;
    }
    await sleep(POLL_MS);
  }
  return { port, stop };
}

function configuration(inServer: string, port: number, folder: string): string {
  const paths = TEMPORARY.map((name) => `  ${name}_temp_path temporary/${name};`).join("\n");
  return `daemon off;
master_process off;
pid nginx.pid;
error_log stderr warn;
events {}
http {
  access_log off;
  gzip on;
  gzip_types *;
${paths}
  server {
    listen 127.0.0.1:${port};
    location = /is-ready {
      return 200 "${folder}";
    }
${inServer}
  }
}
`;
}
