import { inUrl } from "../../../src/driver/addresses.js";

/** What the adapter uses of a `PlainClient`. Structural, so that the library is not imported. */
export interface Plain {
  readonly host: string;
  readonly port: number;
  readonly ended: boolean;
  send(words: readonly string[]): Promise<unknown>;
  /** A new client with the same options. */
  duplicate(): PlainOwn;
  on(event: "ready", listener: () => void): unknown;
  on(event: "lost", listener: (cause: Error) => void): unknown;
  off(event: "ready", listener: () => void): unknown;
  off(event: "lost", listener: (cause: Error) => void): unknown;
}

/** What it uses of the clients that it opens itself. */
export interface PlainOwn extends Pick<Plain, "send" | "on"> {
  unref(): void;
  end(): Promise<void>;
  on(event: "ready", listener: () => void): unknown;
  on(event: "lost", listener: (cause: Error) => void): unknown;
  on(event: "message", listener: (channel: string, message: string) => void): unknown;
}

/** Throws a TypeError that says what to do about what is no client of the library, or one that would break the protocol. */
export function assertUsable(client: Plain): void {
  if (typeof client?.send === "function") return;
  throw new TypeError("plainDriver needs a PlainClient, as in plainDriver(new PlainClient({ port }))");
}

/** Names the server as in a URL, without credentials. */
export function serverName({ host, port }: Plain): string {
  return `redis://${inUrl(host, port)}/0`;
}
