import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { socketsBetweenServers } from "./server-clients.js";

/** Where a replica finds its master. Passes bytes, whatever they say: a `TcpProxy` knows requests and replies only. */
export interface ReplicationLink {
  readonly port: number;
  /** Connections stay, and nothing comes through any more, not even their end; new ones fare the same. */
  hold(): void;
  /** Connections break, with what was held, and so does each new one. */
  cut(): void;
  /** What was held goes on; new connections come through. */
  heal(): void;
  close(): void;
}

/** A connection: its ends at the replica and at the master. */
type Ends = readonly [Socket, Socket];

export async function startLink(masterPort: number): Promise<ReplicationLink> {
  const connections = new Set<Ends>();
  let state: "open" | "held" | "cut" = "open";
  const server = createServer((replica) => {
    socketsBetweenServers.add(replica);
    if (state === "cut") {
      replica.destroy();
      return;
    }
    const master = connect(masterPort, "127.0.0.1");
    socketsBetweenServers.add(master);
    const ends: Ends = [replica, master];
    connections.add(ends);
    for (const [end, other] of [ends, ends.toReversed()] as Ends[]) {
      // A small packet is not to wait until the one before it is acknowledged.
      end.setNoDelay(true);
      // "close" follows.
      end.on("error", () => undefined);
      end.on("close", () => {
        connections.delete(ends);
        other.destroy();
      });
    }
    if (state === "open") join(ends);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    state = "cut";
    for (const end of [...connections].flat()) end.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    hold() {
      state = "held";
      for (const [replica, master] of connections) {
        replica.unpipe(master);
        master.unpipe(replica);
      }
    },
    cut,
    heal() {
      if (state === "held") for (const ends of connections) join(ends);
      state = "open";
    },
    close() {
      cut();
      server.close();
    },
  };
}

function join([replica, master]: Ends): void {
  replica.pipe(master).pipe(replica);
}
