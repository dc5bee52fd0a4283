import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { guard } from "../run/guard.js";
import { freePort } from "./free-port.js";

export interface DatabaseServer {
  readonly port: number;
  /** Ends the process, removes its folder. */
  stop(): Promise<void>;
}

/** How a database server is started as a process of its own, with all its files in a folder that is removed after it. */
export interface DatabaseKind {
  readonly name: string;
  /** What fills the folder. */
  install(folder: string): readonly [program: string, ...args: string[]];
  /** The server, in the foreground. */
  serve(folder: string, port: number): readonly [program: string, ...args: string[]];
  /** What it says on stderr when it takes connections. */
  readonly ready: RegExp;
  /** What it says when another program has the port. */
  readonly portTaken: RegExp;
  /** Ends the server and all processes that it has started, at once. */
  readonly endsOn: NodeJS.Signals;
}

interface Identity {
  readonly uid?: number;
  readonly gid?: number;
}

const MAX_PORTS = 10;

export async function startDatabase(kind: DatabaseKind): Promise<DatabaseServer> {
  const identity = ordinaryUser();
  const folder = mkdtempSync(join(tmpdir(), `holdfast-${kind.name}-`));
  if (identity.uid !== undefined && identity.gid !== undefined) chownSync(folder, identity.uid, identity.gid);
  try {
    await install(kind, folder, identity);
    for (let tries = 1; ; tries += 1) {
      const port = await freePort();
      const started = await serve(kind, folder, port, identity);
      if (typeof started !== "string") return started;
      // Another program took the port between our look at it and the server's.
      if (!kind.portTaken.test(started) || tries === MAX_PORTS) throw new Error(started);
    }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

async function install(kind: DatabaseKind, folder: string, identity: Identity): Promise<void> {
  const [program, ...args] = kind.install(folder);
  const child = spawn(program, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"], ...identity });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${program} failed: ${output}`);
}

/** @returns what the server has said where it has ended at once */
async function serve(
  kind: DatabaseKind,
  folder: string,
  port: number,
  identity: Identity,
): Promise<DatabaseServer | string> {
  const [program, ...args] = kind.serve(folder, port);
  const child = spawn(program, args, { cwd: folder, stdio: ["ignore", "ignore", "pipe"], ...identity });
  const closed = once(child, "close");
  await once(child, "spawn");
  const release = guard(child.pid ?? 0, folder);
  let output = "";
  const isReady = new Promise<boolean>((resolve) => {
    child.stderr.on("data", (text) => {
      output += text;
      if (kind.ready.test(output)) resolve(true);
    });
    child.once("close", () => resolve(false));
  });
  const stop = async () => {
    child.kill(kind.endsOn);
    await closed;
    release();
    rmSync(folder, { recursive: true, force: true });
  };
  if (await isReady) return { port, stop };
  release();
  return output;
}

/** Database servers do not run as root; "nobody" is there wherever one can be root. */
function ordinaryUser(): Identity {
  if (process.getuid?.() !== 0) return {};
  const idOf = (which: string) => Number(execFileSync("id", [which, "nobody"], { encoding: "utf8" }));
  return { uid: idOf("-u"), gid: idOf("-g") };
}
