import type { ProxyConnection } from "./proxy-connection.js";
import type { Target } from "./proxy-faults.js";
import type { Fault } from "./tcp-proxy.js";

/**
 * The next request with the given text, and all that follows on its connection, is held up until the proxy heals, even
 * when its sender has given up the connection. Other connections, and new ones, are as quick as ever: what was sent
 * first then arrives last.
 */
export function holdNextRequest({ on = "" }: Target = {}): Fault {
  return {
    name: "held up on its way",
    obstacle: (proxy) => (proxy.listening ? undefined : "nobody can come through anyway"),
    inject: (proxy) => {
      let victim: ProxyConnection | undefined;
      const isVictim = (connection: ProxyConnection) => (connection === victim ? "hold" : "pass");
      return {
        struck: new Promise((resolve) => {
          proxy.addRule({
            request(connection, frame) {
              if (victim === undefined && frame.includes(on)) {
                victim = connection;
                resolve(connection);
              }
              return isVictim(connection);
            },
            reply: isVictim,
            end: isVictim,
          });
        }),
      };
    },
  };
}
