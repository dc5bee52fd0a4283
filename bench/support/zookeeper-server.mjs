import { existsSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { findProgram } from "./find-program.mjs";
import { freePort } from "./free-port.mjs";
import { startServer, temporaryFolder } from "./server-process.mjs";

/** @import { ServerKind } from "./servers.mjs" */

/** Where Debian's package puts it, with the paths of all that it needs in its manifest. */
const JAR = "/usr/share/java/zookeeper.jar";
/** Asked too early, it may never answer. */
const ANSWERS_WITHIN_MS = 500;

/**
 * One server, with its defaults: a write is on the disk when it is answered.
 *
 * @type {ServerKind}
 */
export const zookeeperServer = {
  name: "ZooKeeper",
  shared: true,

  obstacle() {
    if (findProgram("java") === undefined) return "there is no java on PATH";
    return existsSync(JAR) ? undefined : "there is no zookeeper.jar (Debian: zookeeper)";
  },

  async start() {
    const java = findProgram("java") ?? "";
    const port = await freePort();
    const { folder, remove } = temporaryFolder();
    const config = join(folder, "zoo.cfg");
    writeFileSync(
      config,
      [
        `dataDir=${folder}`,
        `clientPort=${port}`,
        "clientPortAddress=127.0.0.1",
        "tickTime=2000",
        "admin.enableServer=false",
        "4lw.commands.whitelist=srvr",
        "",
      ].join("\n"),
    );
    const main = "org.apache.zookeeper.server.ZooKeeperServerMain";
    let version = "";
    const stop = await startServer(java, ["-cp", JAR, main, config], async () => {
      version = await versionAt(port);
      return version !== "";
    });
    return {
      port,
      version: `ZooKeeper ${version}`,
      async stop() {
        await stop();
        remove();
      },
    };
  },
};

/**
 * "" until it serves.
 *
 * @param {number} port
 * @returns {Promise<string>}
 */
function versionAt(port) {
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(port, "127.0.0.1", () => socket.write("srvr"));
    socket.setTimeout(ANSWERS_WITHIN_MS, () => socket.destroy());
    socket.on("data", (text) => (answer += text));
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(/Zookeeper version: ([\d.]+)/.exec(answer)?.[1] ?? ""));
  });
}
