import { type ChannelListener, DriverClosedError, type Unsubscribe } from "../../../src/driver/driver.js";
import type { Stream } from "../chooser/chooser.js";
import type { CutTerms } from "./command-link.js";
import type { SimProcess } from "./sim-process.js";
import type { Ear, SimServer } from "./sim-server.js";
import type { VirtualTime } from "./virtual-time.js";
import { type Distance, Wire } from "./wire.js";

interface LinkParts {
  readonly name: string;
  readonly time: VirtualTime;
  readonly process: SimProcess;
  readonly server: () => SimServer;
  readonly distance: Distance;
  readonly delays: Stream;
}

/** One channel that is listened to. */
interface Subscription {
  readonly listeners: Set<ChannelListener>;
  /** Who waits for the first confirmation. */
  readonly waiting: Set<() => void>;
  /** Whether messages arrive. */
  isOpen: boolean;
}

/** A Redis client's connection for messages, with all that follow each other in it. It subscribes anew on each. */
export class MessageLink {
  readonly name: string;
  readonly #parts: LinkParts;
  readonly #subscriptions = new Map<string, Subscription>();
  #wire: Wire | undefined;
  #ear: Ear | undefined;
  #server: SimServer | undefined;
  /** Who waits for the server to know that nobody listens any more. */
  readonly #leaving = new Set<() => void>();
  #isDown = false;
  /** Called when the next message is lost; undefined: it is not. */
  #losesNext: (() => void) | undefined;
  #isClosed = false;
  #wires = 0;
  #heard = 0;

  constructor(parts: LinkParts) {
    this.name = parts.name;
    this.#parts = parts;
  }

  get channels(): number {
    return this.#subscriptions.size;
  }

  /** Whether the messages of a channel reach the client. */
  hears(channel: string): boolean {
    return this.#subscriptions.get(channel)?.isOpen === true;
  }

  /** How many messages have reached the client. */
  get heard(): number {
    return this.#heard;
  }

  get isOpen(): boolean {
    return this.#wire !== undefined && !this.#wire.isCut;
  }

  get process(): SimProcess {
    return this.#parts.process;
  }

  get inTransit(): { readonly there: number; readonly back: number } {
    return this.#wire?.underWay ?? { there: 0, back: 0 };
  }

  subscribe(channel: string, listener: ChannelListener): Promise<Unsubscribe> {
    if (this.#isClosed) return Promise.reject(new DriverClosedError());
    return new Promise((resolve) => {
      const known = this.#subscriptions.get(channel);
      const subscription = known ?? { listeners: new Set(), waiting: new Set(), isOpen: false };
      const unsubscribe = () => this.#unsubscribe(channel, subscription, listener);
      subscription.listeners.add(listener);
      this.#subscriptions.set(channel, subscription);
      if (subscription.isOpen) {
        const { time, process } = this.#parts;
        time.at(process.nowUs, () => process.gate.pass(() => ready()), {
          actor: process.name,
          queue: `${process.name} soon`,
        });
      } else subscription.waiting.add(() => resolve(unsubscribe));
      const ready = () => {
        if (subscription.listeners.has(listener)) listener.onReady();
        resolve(unsubscribe);
      };
      if (known === undefined) this.#open(channel, subscription);
    });
  }

  /** The next message that comes gets lost. */
  loseNext(lost: () => void): void {
    this.#losesNext = lost;
  }

  /** What is on its way is late. @returns for how long nothing arrives */
  hold(us: number): number {
    return this.#wire?.hold("back", us) ?? us;
  }

  cut({ noticeUs, reconnectUs, lateUs, ...arrive }: CutTerms, serverNoticesUs: number): void {
    const wire = this.#wire;
    if (wire === undefined || wire.isCut) return;
    wire.cut(arrive, lateUs);
    const { time, process } = this.#parts;
    this.#serverForgets(serverNoticesUs);
    const noticed = () =>
      process.gate.pass(() => {
        if (this.#isClosed || wire !== this.#wire) return;
        this.#isDown = true;
        this.#nobodyCanBeTold();
        for (const subscription of this.#subscriptions.values()) subscription.isOpen = false;
        const connected = () => process.gate.pass(() => this.#reconnect());
        time.after(reconnectUs, connected, { actor: process.name });
      });
    time.after(noticeUs, noticed, { actor: process.name });
  }

  /** The client ends the connection by itself, and listens to where the server is now. */
  move(): void {
    const wire = this.#wire;
    if (wire === undefined || this.#isDown || this.#isClosed) return;
    if (!wire.isCut) wire.cut({ there: wire.underWay.there, back: 0 });
    this.#serverForgets(0);
    this.#nobodyCanBeTold();
    for (const subscription of this.#subscriptions.values()) subscription.isOpen = false;
    this.#reconnect();
  }

  /** The process closes it, or is gone. */
  end(serverNoticesUs = 0): void {
    this.#isClosed = true;
    // What is on its way makes no server listen for a connection that is closed.
    this.#wire?.cut({ there: 0, back: 0 });
    this.#subscriptions.clear();
    this.#nobodyCanBeTold();
    this.#serverForgets(serverNoticesUs);
  }

  #reconnect(): void {
    if (this.#isClosed) return;
    this.#isDown = false;
    this.#wire = undefined;
    for (const [channel, subscription] of this.#subscriptions) this.#open(channel, subscription);
  }

  #connect(): { readonly wire: Wire; readonly ear: Ear; readonly server: SimServer } {
    const { time, distance, delays, process } = this.#parts;
    const server = this.#parts.server();
    this.#wires += 1;
    const name = `${this.name} messages ${this.#wires}`;
    const wire = new Wire(time, distance, delays, { name, process: process.name, server: server.name });
    const ear: Ear = {
      hear: (channel, message) => {
        wire.toProcess(() =>
          process.gate.pass(() => {
            const lost = this.#losesNext;
            this.#losesNext = undefined;
            if (lost !== undefined) {
              lost();
              return;
            }
            this.#heard += 1;
            for (const each of this.#subscriptions.get(channel)?.listeners ?? []) each.onMessage(message);
          }),
        );
      },
    };
    this.#wire = wire;
    this.#ear = ear;
    this.#server = server;
    return { wire, ear, server };
  }

  #open(channel: string, subscription: Subscription): void {
    if (this.#isDown) return;
    const { process } = this.#parts;
    const open =
      this.#wire !== undefined && this.#ear !== undefined && this.#server !== undefined
        ? { wire: this.#wire, ear: this.#ear, server: this.#server }
        : this.#connect();
    const { wire, ear, server } = open;
    wire.toServer(process.nowUs, () =>
      server.gate.pass(() => {
        // Behind the last request of a process that is gone comes the end of its connection.
        if (!wire.isCut && !this.#isClosed) server.listen(channel, ear);
        wire.toProcess(() => process.gate.pass(() => this.#confirm(wire, channel, subscription)));
      }),
    );
  }

  #confirm(wire: Wire, channel: string, subscription: Subscription): void {
    if (wire !== this.#wire || this.#isDown || this.#subscriptions.get(channel) !== subscription) return;
    subscription.isOpen = true;
    for (const listener of [...subscription.listeners]) listener.onReady();
    for (const resolve of subscription.waiting) resolve();
    subscription.waiting.clear();
  }

  #unsubscribe(channel: string, subscription: Subscription, listener: ChannelListener): Promise<void> {
    subscription.listeners.delete(listener);
    const isLast = subscription.listeners.size === 0 && this.#subscriptions.get(channel) === subscription;
    if (!isLast) return Promise.resolve();
    this.#subscriptions.delete(channel);
    const { process } = this.#parts;
    const wire = this.#wire;
    const ear = this.#ear;
    const server = this.#server;
    if (wire === undefined || ear === undefined || server === undefined) return Promise.resolve();
    return new Promise((resolve) => {
      const told = () => {
        this.#leaving.delete(told);
        resolve();
      };
      this.#leaving.add(told);
      wire.toServer(process.nowUs, () =>
        server.gate.pass(() => {
          server.unlisten(channel, ear);
          wire.toProcess(() => process.gate.pass(told));
        }),
      );
    });
  }

  #nobodyCanBeTold(): void {
    for (const told of this.#leaving) told();
  }

  #serverForgets(afterUs: number): void {
    const { time } = this.#parts;
    const ear = this.#ear;
    const server = this.#server;
    if (ear === undefined || server === undefined) return;
    time.after(afterUs, () => server.forget(ear), { actor: server.name });
  }
}
