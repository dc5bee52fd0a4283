import type { ConnectionEvents, OwnConnection } from "../../../src/driver/own/connection.js";
import { inRootContext } from "../../../src/root-context.js";
import type { Plain } from "./client.js";

/** Opens a connection of our own, which lives once and keeps no process alive. */
export function openConnection(plain: Plain, events: ConnectionEvents): OwnConnection {
  const client = plain.duplicate();
  client.on("ready", events.onReady);
  client.on("message", events.onMessage);
  client.on("lost", (cause) => {
    events.onEnd(cause);
    // It would connect anew with the next command.
    void client.end();
  });
  // It connects with its first command.
  inRootContext(() => client.send(["PING"])).catch(toldByItsEnd);
  client.unref();
  return {
    send: (words) => client.send(words),
    subscribe: (channel) => client.send(["SUBSCRIBE", channel]),
    unsubscribe: (channel) => client.send(["UNSUBSCRIBE", channel]),
    close: () => client.end(),
  };
}

/** A connection that is lost rejects what waits for it as well. */
function toldByItsEnd(): void {}
