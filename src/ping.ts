import { checkObject, checkSignal, duration, known, refuseUnknown } from "./checks.js";
import type { Client } from "./client.js";
import { serverProbe } from "./protocol/lock-scripts.js";
import { forCaller } from "./runtime/for-caller.js";

/** How to ask a server whether it answers. */
export interface PingOptions {
  /** How long to wait for the answer, in milliseconds. Default: the client's `commandTimeoutMs`. */
  readonly timeoutMs?: number | undefined;
  /** Cancels the wait: the call rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The answer of a server. */
export interface Pong {
  /** The server that answered, without credentials, as far as the Redis client tells. */
  readonly server: string;
  /** Milliseconds from the sending to the answer. */
  readonly rttMs: number;
  /** The server's clock minus the wall clock of this process halfway between sending and answer, in whole milliseconds. */
  readonly clockOffsetMs: number;
  /** The server's version of Redis; for Valkey the compatible version of Redis. null if `INFO` is not allowed. */
  readonly version: string | null;
}

const PING_OPTIONS = known<PingOptions>("option", "ping", { timeoutMs: true, signal: true });

/** @throws TypeError, RangeError */
export function checkPingOptions(options: PingOptions): void {
  checkObject("options", options, "{ timeoutMs: 500 }");
  const { timeoutMs, signal, ...unknown } = options;
  refuseUnknown(PING_OPTIONS, unknown);
  duration("timeoutMs", timeoutMs, 1);
  checkSignal(signal);
}

/**
 * Asks the server of a key.
 * @throws UnavailableError, ClientClosedError; the reason of the signal
 */
export async function ping(client: Client, key: string, { timeoutMs, signal }: PingOptions): Promise<Pong> {
  client.assertOpen();
  const waiter = client.newWaiter(undefined, signal);
  try {
    if (waiter.cancelled) throw waiter.reason;
    const patience = {
      timeoutMs,
      get cancelled() {
        return waiter.cancelled;
      },
    };
    const { commands, clock } = client;
    const input = () => ({ key: client.inCluster ? key : undefined });
    const server = commands.serverOf(key);
    const answer = commands
      .exchange(serverProbe, key, input, patience)
      .then(({ reply, serverMs, sentAt }) => {
        const rttMs = clock.monotonicMs() - sentAt.monotonicMs;
        // The key may have moved to another server by now.
        if (commands.serverOf(key) === server) commands.unsuited.met(server, reply);
        const clockOffsetMs = Math.round(serverMs - (sentAt.wallMs + rttMs / 2));
        return { server, rttMs, clockOffsetMs, version: reply.version };
      });
    const pong = await waiter.unlessCancelled(answer);
    if (pong === undefined) throw waiter.reason;
    return pong;
  } catch (error) {
    // The error comes from a timer or from an incoming answer. It is created again here, so that its stack has this caller.
    throw forCaller(error, undefined, waiter);
  } finally {
    client.dismiss(waiter);
  }
}
