import type { EventEmitter } from "node:events";
import type { Socket } from "node:net";

/** ioredis 5 leaves a timer of so many milliseconds behind when a connection breaks in its handshake. */
export const quickEnd = { disconnectTimeout: 10 } as const;

interface ClientOfIoredis extends EventEmitter {
  readonly status: string;
  readonly stream?: Socket;
  readonly options: { retryStrategy?: unknown };
  disconnect(): void;
}

/**
 * Ends a client of any version at once, also when its server is stopped or gone. Resolves when it has ended, which
 * nobody learns of `disconnect()` on a client that waits to reconnect: it stays as it is, and what it has queued
 * never settles.
 */
export async function destroyClient(client: ClientOfIoredis): Promise<void> {
  if (client.status === "end") return;
  client.on("error", () => undefined);
  const end = new Promise<void>((resolve) => client.once("end", resolve));
  if (client.status === "wait") client.disconnect();
  client.options.retryStrategy = () => null;
  client.on("connect", () => client.stream?.destroy());
  client.stream?.destroy();
  await end;
}
