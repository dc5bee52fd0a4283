import type {
  ChannelListener,
  Driver,
  DriverTraits,
  ReplicatedReply,
  Ticket,
  Unsubscribe,
} from "../../../src/driver/driver.js";
import { type FakeClock, type MemoryServer, memoryDriver } from "../../../src/memory/index.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";

/** One server behind a {@link BusyDriver}. */
export interface BusyServer {
  /** For how long it works on each key of a script. */
  msPerKey: number;
  /** True: it does not work any more, and answers nothing. */
  isGone: boolean;
  /** Answers this in place of what it would. */
  refusal: Error | undefined;
  /** When it has done what it was sent, on the monotonic clock. */
  freeMs: number;
  /** How many locks it was asked for and has not answered yet, now and at most. */
  underWay: number;
  mostUnderWay: number;
  /** What it was sent. */
  readonly calls: ScriptCall[];
}

/** A driver to servers that work through what they are sent one key after the other, on the fake clock. */
export class BusyDriver implements Driver {
  readonly traits: DriverTraits;
  readonly resets = 0;
  readonly servers = new Map<string, BusyServer>();
  /** May be changed at any time. */
  placeOf = (_key: string): string => "";
  readonly #inner: Driver;
  readonly #clock: FakeClock;

  constructor(server: MemoryServer, clock: FakeClock, topology: DriverTraits["topology"] = "memory") {
    this.traits = { server: "busy", topology };
    this.#inner = memoryDriver(server);
    this.#clock = clock;
  }

  server(place = ""): BusyServer {
    const server = this.servers.get(place) ?? {
      msPerKey: 1,
      isGone: false,
      refusal: undefined,
      freeMs: 0,
      underWay: 0,
      mostUnderWay: 0,
      calls: [],
    };
    this.servers.set(place, server);
    return server;
  }

  run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    const { keys, script } = call;
    const server = this.server(this.placeOf(keys[0] ?? ""));
    const locks = script.name.endsWith("-acquire") ? keys.length : 0;
    server.calls.push(call);
    server.underWay += locks;
    server.mostUnderWay = Math.max(server.mostUnderWay, server.underWay);
    const nowMs = this.#clock.monotonicMs();
    server.freeMs = Math.max(server.freeMs, nowMs) + keys.length * server.msPerKey;
    return new Promise((resolve, reject) => {
      this.#clock.schedule(server.freeMs - nowMs, () => {
        if (server.isGone) return;
        server.underWay -= locks;
        if (server.refusal !== undefined) reject(server.refusal);
        else this.#inner.run(call, ticket).then(resolve, reject);
      });
    });
  }

  subscribe(channel: string, listener: ChannelListener): Promise<Unsubscribe> {
    return this.#inner.subscribe(channel, listener);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}

/** As a {@link BusyDriver}, and has one replica that acknowledges all. */
export class ReplicatedBusyDriver extends BusyDriver {
  async runReplicated(call: ScriptCall, ticket: Ticket): Promise<ReplicatedReply> {
    return { reply: await this.run(call, ticket), acknowledged: 1, wanted: 1 };
  }
}
