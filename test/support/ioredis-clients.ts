import type { EventEmitter } from "node:events";
import { once } from "node:events";
import type { Socket } from "node:net";

interface ClientOfIoredis extends EventEmitter {
  readonly status: string;
  readonly stream?: Socket;
  disconnect(): void;
}

/** Ends a client of any version at once, also when its server is stopped or gone. Resolves when it has ended. */
export async function destroyClient(client: ClientOfIoredis): Promise<void> {
  if (client.status === "end") return;
  client.on("error", () => undefined);
  const end = once(client, "end");
  client.disconnect();
  client.stream?.destroy();
  await end;
}
