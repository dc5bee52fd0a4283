import { isMessage } from "../servers/resp.js";
import type { ProxyConnection, Rule, Verdict } from "./proxy-connection.js";
import type { Fault, Injection, TcpProxy } from "./tcp-proxy.js";

/** Which connections or requests a fault is for: those with this text in them, such as a command or a key. */
export interface Target {
  readonly on?: string;
}

/** Everything takes so many milliseconds longer, in each direction. Nothing overtakes. */
export function delay(delayMs: number, { on }: Target = {}): Fault {
  return {
    name: `delay of ${delayMs} ms`,
    obstacle: unlessReachable,
    inject: (proxy) => {
      proxy.addRule(everything(on, { delayMs }));
      return atOnce;
    },
  };
}

/**
 * The server does what the next request with the given text asks for, but its reply is lost. Then the connection
 * breaks (`cut`), or it stays and brings nothing more (`stall`).
 */
export function dropNextReply({
  on,
  after = "cut",
}: Target & { readonly after?: "cut" | "stall" } = {}): Fault {
  return {
    name: "lost reply",
    obstacle: unlessReachable,
    inject: (proxy) =>
      strikes((strike) => {
        let victim: ProxyConnection | undefined;
        let lost = false;
        /** Replies to earlier requests, which still come through. */
        let owedBefore = 0;
        const lift = proxy.addRule({
          request: (connection, frame) => {
            if (victim === undefined && has(frame, on)) {
              victim = connection;
              owedBefore = connection.owed - 1;
            }
            return "pass";
          },
          reply: (connection, frame) => {
            if (connection !== victim) return "pass";
            if (lost) return "drop";
            if (isMessage(frame)) return "pass";
            if (owedBefore > 0) {
              owedBefore -= 1;
              return "pass";
            }
            lost = true;
            if (after === "cut") {
              lift();
              connection.cut();
            }
            strike(connection);
            return "drop";
          },
        });
      }),
  };
}

/** The next request with the given text never reaches the server, and its connection breaks. */
export function cutBeforeForward({ on }: Target = {}): Fault {
  return {
    name: "cut before the request arrives",
    obstacle: unlessReachable,
    inject: (proxy) =>
      strikes((strike) => {
        const lift = proxy.addRule({
          request: (connection, frame) => {
            if (!has(frame, on)) return "pass";
            lift();
            connection.cut();
            strike(connection);
            return "drop";
          },
        });
      }),
  };
}

/** The connections break, now. */
export function cut({ on }: Target = {}): Fault {
  return {
    name: "cut",
    obstacle: (proxy) => unlessConnected(proxy, on),
    inject: (proxy) => {
      const victims = proxy.carrying(on);
      for (const connection of victims) connection.cut();
      return { struck: Promise.all(victims.map(({ closed }) => closed)).then(() => victims[0]) };
    },
  };
}

/**
 * The connections stay, and nothing comes through any more, not even their end; new ones fare the same. What was
 * sent meanwhile arrives when the proxy heals, as after a network partition.
 */
export function halfOpen({ on }: Target = {}): Fault {
  return {
    name: "half-open",
    obstacle: (proxy) => unlessConnected(proxy, on),
    inject: (proxy) => {
      proxy.addRule(everything(on, "hold"));
      return atOnce;
    },
  };
}

/** New connections are refused; the open ones stay. */
export const refuse: Fault = {
  name: "refuse",
  obstacle: (proxy) => (proxy.listening ? undefined : "connections are refused already"),
  inject: (proxy) => {
    proxy.refuse();
    return atOnce;
  },
};

const atOnce: Injection = { struck: Promise.resolve(undefined) };

function strikes(arm: (strike: (connection: ProxyConnection) => void) => void): Injection {
  return { struck: new Promise((resolve) => arm(resolve)) };
}

/** The same verdict for whatever goes over the connections with the given text. */
function everything(text: string | undefined, verdict: Verdict): Rule {
  const judge = (connection: ProxyConnection) =>
    text === undefined || connection.carries(text) ? verdict : "pass";
  return { request: judge, reply: judge, end: judge };
}

function has(frame: Buffer, text: string | undefined): boolean {
  return text === undefined || frame.toString("latin1").toLowerCase().includes(text.toLowerCase());
}

function unlessReachable(proxy: TcpProxy): string | undefined {
  return proxy.listening || proxy.connections.length > 0 ? undefined : "nobody can come through anyway";
}

function unlessConnected(proxy: TcpProxy, text: string | undefined): string | undefined {
  if (proxy.carrying(text).length > 0) return undefined;
  return text === undefined ? "there is no connection" : `no connection carries "${text}"`;
}
