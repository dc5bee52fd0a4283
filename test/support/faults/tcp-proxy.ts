import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { freePort } from "../servers/free-port.js";
import { ProxyConnection, type Rule } from "./proxy-connection.js";

/** Something that can go wrong between client and server. The faults are in `proxy-faults.ts`. */
export interface Fault {
  readonly name: string;
  /** Why it can not happen now; undefined when it can. */
  obstacle(proxy: TcpProxy): string | undefined;
  inject(proxy: TcpProxy): Injection;
}

export interface Injection {
  /** Resolves with the connection once the fault has done its harm. */
  readonly struck: Promise<ProxyConnection | undefined>;
}

const MAX_PORTS = 10;

export async function startProxy(targetPort: number): Promise<TcpProxy> {
  for (let tries = 1; ; tries += 1) {
    const proxy = new TcpProxy(await freePort(), targetPort);
    try {
      await proxy.listen();
      return proxy;
    } catch (error) {
      // Somebody else was faster to take the port.
      if (tries === MAX_PORTS) throw error;
    }
  }
}

/** Stands between Redis clients and a server, understands where requests and replies begin, and can be hurt. */
export class TcpProxy {
  readonly port: number;
  readonly #targetPort: number;
  readonly #connections = new Set<ProxyConnection>();
  readonly #rules = new Set<Rule>();
  #server: Server | undefined;
  #accepted = 0;

  constructor(port: number, targetPort: number) {
    this.port = port;
    this.#targetPort = targetPort;
  }

  /** The open connections, oldest first. */
  get connections(): readonly ProxyConnection[] {
    return [...this.#connections];
  }

  /** How many connections there were so far. */
  get accepted(): number {
    return this.#accepted;
  }

  /** True when nothing is wrong: what comes is passed on at once. */
  get healthy(): boolean {
    return this.#rules.size === 0 && this.listening;
  }

  get listening(): boolean {
    return this.#server !== undefined;
  }

  /** Those connections whose latest requests have this text in them; all if there is none given. */
  carrying(text: string | undefined): ProxyConnection[] {
    return this.connections.filter((connection) => text === undefined || connection.carries(text));
  }

  /** Hurts. @throws when the fault could not do what its name says */
  inject(fault: Fault): Injection {
    const obstacle = fault.obstacle(this);
    if (obstacle !== undefined) throw new Error(`fault "${fault.name}" can not be injected: ${obstacle}`);
    return fault.inject(this);
  }

  /** Ends all faults. What was held goes on; connections that lost something are cut. */
  async heal(): Promise<void> {
    this.#rules.clear();
    for (const connection of this.#connections) connection.heal();
    if (this.#server === undefined) await this.listen();
  }

  async close(): Promise<void> {
    this.#rules.clear();
    const connections = this.connections;
    for (const connection of connections) connection.cut();
    this.refuse();
    await Promise.all(connections.map(({ closed }) => closed));
  }

  /** For faults: judges all traffic from now on, until the proxy heals or the rule is lifted. */
  addRule(rule: Rule): () => void {
    this.#rules.add(rule);
    return () => void this.#rules.delete(rule);
  }

  /** For faults: the operating system refuses new connections from now on. */
  refuse(): void {
    const server = this.#server;
    this.#server = undefined;
    // Its event "close" waits for the connections, which are to stay.
    server?.close();
  }

  async listen(): Promise<void> {
    const server = createServer((socket) => this.#accept(socket));
    server.listen(this.port, "127.0.0.1");
    await once(server, "listening");
    this.#server = server;
  }

  #accept(socket: Socket): void {
    this.#accepted += 1;
    const connection = new ProxyConnection(this.#accepted, socket, this.#targetPort, this.#rules);
    this.#connections.add(connection);
    void connection.closed.then(() => this.#connections.delete(connection));
  }
}
