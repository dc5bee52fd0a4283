import type { EventEmitter } from "node:events";
import type { Socket } from "node:net";

/** ioredis 5 leaves a timer of so many milliseconds behind when a connection breaks in its handshake. */
export const quickEnd = { disconnectTimeout: 10 } as const;

interface ClientOfIoredis extends EventEmitter {
  readonly status: string;
  readonly stream?: Socket;
  readonly options: { retryStrategy?: unknown };
  connect(): Promise<unknown>;
  disconnect(): void;
}

/**
 * Ends a client of any version at once, also when its server is stopped or gone. Resolves when it has ended, which
 * nobody learns of `disconnect()` on a client that waits to reconnect, nor of its `quit()`: it stays as it is, and what
 * it has queued never settles. So it tries once more.
 */
export async function destroyClient(client: ClientOfIoredis): Promise<void> {
  if (client.status === "end") return;
  client.on("error", () => undefined);
  const end = new Promise<void>((resolve) => client.once("end", resolve));
  const mustConnect = client.status === "reconnecting";
  if (client.status === "wait" || mustConnect) client.disconnect();
  client.options.retryStrategy = () => null;
  client.on("connect", () => client.stream?.destroy());
  client.stream?.destroy();
  if (mustConnect) client.connect().catch(() => undefined);
  await end;
}
