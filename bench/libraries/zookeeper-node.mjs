import { once } from "node:events";
import { zookeeperServer } from "../support/zookeeper-server.mjs";

/** @import { Library } from "../support/contracts.js" */

/**
 * ZooKeeper's own recipe: an ephemeral sequential node for each who wants the lock. The first has it, and each waits for
 * the node before its own to go. There are no leases: a node goes with its client.
 *
 * @type {Library}
 */
export const zookeeperNode = {
  name: "zookeeper-node",
  role: "other",
  server: zookeeperServer,
  packages: ["node-zookeeper-client"],
  claims: { kinds: ["fair"], waits: true, renews: false },

  async open({ port, run }) {
    const { default: zookeeper } = await import("node-zookeeper-client");
    const client = zookeeper.createClient(`127.0.0.1:${port}`);
    const connected = once(client, "connected");
    client.connect();
    await connected;
    const mode = zookeeper.CreateMode.EPHEMERAL_SEQUENTIAL;
    /** @type {Map<string, Promise<void>>} a parent is made once, and stays */
    const parents = new Map();

    /** @type {(path: string) => Promise<void>} */
    const makeParent = (path) =>
      new Promise((resolve, reject) => client.mkdirp(path, (error) => (error ? reject(error) : resolve())));
    /** @type {(path: string) => Promise<string>} */
    const create = (path) =>
      new Promise((resolve, reject) =>
        client.create(path, null, mode, (error, created) => (error ? reject(error) : resolve(created))),
      );
    /** @type {(path: string) => Promise<string[]>} */
    const childrenOf = (path) =>
      new Promise((resolve, reject) =>
        client.getChildren(path, (error, children) => (error ? reject(error) : resolve(children))),
      );
    /** @type {(path: string) => Promise<void>} */
    const whenGone = (path) =>
      new Promise((resolve, reject) =>
        client.exists(
          path,
          () => resolve(),
          (error, stat) => {
            if (error) reject(error);
            else if (!stat) resolve();
          },
        ),
      );

    return {
      async acquire(name) {
        const parent = `/${run}-${name}`;
        if (!parents.has(parent)) parents.set(parent, makeParent(parent));
        await parents.get(parent);
        const path = await create(`${parent}/n-`);
        for (;;) {
          const nodes = (await childrenOf(parent)).sort();
          const before = nodes[nodes.indexOf(path.slice(parent.length + 1)) - 1];
          if (before === undefined) return path;
          await whenGone(`${parent}/${before}`);
        }
      },

      release: (/** @type {string} */ path) =>
        new Promise((resolve, reject) =>
          client.remove(path, (error) => (error ? reject(error) : resolve(undefined))),
        ),
    };
  },
};
