/** What we use of node-zookeeper-client, which comes without types. */
declare module "node-zookeeper-client" {
  import type { EventEmitter } from "node:events";

  interface Client extends EventEmitter {
    connect(): void;
    mkdirp(path: string, callback: (error: Error | null) => void): void;
    create(
      path: string,
      data: null,
      mode: number,
      callback: (error: Error | null, created: string) => void,
    ): void;
    getChildren(path: string, callback: (error: Error | null, children: string[]) => void): void;
    exists(path: string, watcher: () => void, callback: (error: Error | null, stat: unknown) => void): void;
    remove(path: string, callback: (error: Error | null) => void): void;
  }

  const zookeeper: {
    readonly CreateMode: { readonly EPHEMERAL_SEQUENTIAL: number };
    createClient(address: string): Client;
  };
  export default zookeeper;
}
