import { execFileSync } from "node:child_process";
import { userInfo } from "node:os";
import { join } from "node:path";
import { accepts } from "./accepts.mjs";
import { findProgram } from "./find-program.mjs";
import { freePort } from "./free-port.mjs";
import { startServer, temporaryFolder } from "./server-process.mjs";

/** @import { ServerKind } from "./servers.mjs" */

/**
 * With its defaults: a write is on the disk when it is answered.
 *
 * @type {ServerKind}
 */
export const mariadbServer = {
  name: "MariaDB",
  shared: true,

  obstacle() {
    const missing = Object.entries(programs()).find(([, path]) => path === undefined);
    return missing === undefined ? undefined : `there is no ${missing[0]} (Debian: mariadb-server-core)`;
  },

  async start() {
    const { mariadbd = "", "mariadb-install-db": install = "" } = programs();
    const port = await freePort();
    const { folder, remove } = temporaryFolder();
    const own = ["--no-defaults", `--datadir=${join(folder, "data")}`, `--user=${userInfo().username}`];
    execFileSync(install, [...own, "--auth-root-authentication-method=normal", "--skip-test-db"], {
      stdio: "ignore",
    });
    const listening = [`--port=${port}`, "--bind-address=127.0.0.1", `--socket=${join(folder, "socket")}`];
    const args = [...own, ...listening, `--pid-file=${join(folder, "pid")}`];
    const stop = await startServer(mariadbd, args, () => accepts(port));
    return {
      port,
      version: `MariaDB ${versionOf(mariadbd)}`,
      async stop() {
        await stop();
        remove();
      },
    };
  },
};

function programs() {
  return { mariadbd: findProgram("mariadbd"), "mariadb-install-db": findProgram("mariadb-install-db") };
}

/** @param {string} program */
function versionOf(program) {
  const [, version] = /Ver ([\d.]+)/.exec(execFileSync(program, ["--version"], { encoding: "utf8" })) ?? [];
  return version ?? "";
}
