import { afterEach } from "vitest";
import type { HoldfastOptions } from "../../../src/client-options.js";
import { Holdfast } from "../../../src/index.js";
import { type Inspector, type InspectorOptions, inspector } from "../../../src/inspector/index.js";
import { memoryDriver } from "../../../src/memory/index.js";
import { OutageDriver } from "../drivers/outage-driver.js";
import { watched } from "../run/watched.js";
import { type FakeTime, fakeTime } from "./fake-time.js";

/** An event of a feed. */
interface Told {
  readonly event: string;
  readonly data: unknown;
}

/** A page that has a feed open. */
export interface OpenPage {
  /** The data of the next events of a kind: at least one, and all that come with it. */
  next(event: string): Promise<readonly unknown[]>;
  /** All that has come so far, pings as text. */
  readonly text: string;
  /** Whether the server has ended it. */
  readonly isEnded: boolean;
  leave(): Promise<void>;
}

/** A client whose way to the server can be cut. */
export interface Cuttable {
  readonly holdfast: Holdfast;
  readonly driver: OutageDriver;
}

/** An inspector on an embedded server, for which time passes only when a test says so. */
export interface Inspecting {
  readonly time: FakeTime;
  /** The client that it looks with. */
  readonly looks: Cuttable;
  readonly locks: Inspector;
  /** One more client. */
  connect(options?: HoldfastOptions): Cuttable;
  ask(search: string, init?: RequestInit): Promise<Response>;
  /** Opens a feed. */
  view(search?: string, init?: RequestInit): Promise<OpenPage>;
}

/** How long a test lets pass before it looks again. */
const STEP_MS = 20;
export const PAGE = "http://localhost/locks";

/** Makes an inspector for each test that asks, and closes it afterwards. */
export function inspecting(): (options?: HoldfastOptions, how?: Partial<InspectorOptions>) => Inspecting {
  const open = fakeTime();
  const opened: { readonly locks: Inspector; readonly time: FakeTime; readonly clients: Cuttable[] }[] = [];
  afterEach(async () => {
    for (const { locks, time, clients } of opened.splice(0)) {
      locks.close();
      for (const { driver } of clients) driver.mend();
      await passing(time, Promise.all(clients.map(({ holdfast }) => holdfast.close())));
    }
  });
  return (options = {}, how = {}) => {
    const time = open(options);
    const { clock } = time;
    const clients: Cuttable[] = [];
    const connect = (more: HoldfastOptions = {}): Cuttable => {
      const driver = new OutageDriver(memoryDriver(time.server));
      const client = { driver, holdfast: new Holdfast(driver, { clock, ...more }) };
      clients.push(client);
      return client;
    };
    const looks = connect();
    const authorize = () => ({ role: "operate", actor: "ada" }) as const;
    const locks = inspector(looks.holdfast, { authorize, clock, ...how });
    opened.push({ locks, time, clients });
    const ask = (search: string, init: RequestInit = {}) =>
      passing(time, locks.fetch(new Request(PAGE + search, init)));
    const view = async (search = "?feed", init: RequestInit = {}) => new Page(time, await ask(search, init));
    return { time, looks, locks, connect, ask, view };
  };
}

/** Lets time pass until it settles. */
export async function passing<T>({ clock }: Pick<FakeTime, "clock">, promise: Promise<T>): Promise<T> {
  const settled = watched(promise);
  while (settled.outcome === undefined) await clock.advance(STEP_MS);
  return promise;
}

class Page implements OpenPage {
  text = "";
  isEnded = false;
  readonly #time: FakeTime;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #taken = 0;

  constructor(time: FakeTime, response: Response) {
    if (response.body === null || response.status !== 200) throw new Error(`status ${response.status}`);
    this.#time = time;
    this.#reader = response.body.getReader();
    void this.#read();
  }

  async next(event: string): Promise<readonly unknown[]> {
    for (;;) {
      const all = toldIn(this.text);
      const fresh = all.slice(this.#taken).filter((told) => told.event === event);
      if (fresh.length > 0) {
        this.#taken = all.length;
        return fresh.map(({ data }) => data);
      }
      if (this.isEnded) throw new Error(`the feed has ended without ${event}:\n${this.text}`);
      await this.#time.clock.advance(STEP_MS);
    }
  }

  leave(): Promise<void> {
    return this.#reader.cancel();
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    try {
      for (;;) {
        const { done, value } = await this.#reader.read();
        if (done) break;
        this.text += decoder.decode(value, { stream: true });
      }
    } catch {
      // The server has cut it off.
    }
    this.isEnded = true;
  }
}

function toldIn(text: string): Told[] {
  return text.split("\n\n").flatMap((part) => {
    const [, event, data] = /^event: (.*)\ndata: (.*)$/.exec(part) ?? [];
    return event === undefined || data === undefined ? [] : [{ event, data: JSON.parse(data) as unknown }];
  });
}
