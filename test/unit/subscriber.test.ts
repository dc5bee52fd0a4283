import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Recorder } from "../../src/driver/conformance/conformance-case.js";
import { DriverClosedError, ServerReplyError } from "../../src/driver/driver.js";
import type { ConnectionEvents, PubSubConnection } from "../../src/driver/own/connection.js";
import { Slots } from "../../src/driver/own/slots.js";
import { Subscriber } from "../../src/driver/own/subscriber.js";
import { gate } from "../support/run/gate.js";

const RETRY_MS = 50;

/** Everything happens in promises, which are all done before the next turn of the event loop. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A connection to a master that answers at once, unless the test says something else. */
class ScriptedConnection implements PubSubConnection {
  closed = false;
  readonly #cluster: ScriptedShards;
  readonly #unanswered = new Set<(error: Error) => void>();

  constructor(
    readonly master: string,
    readonly events: ConnectionEvents,
    cluster: ScriptedShards,
  ) {
    this.#cluster = cluster;
  }

  subscribe(channel: string): Promise<unknown> {
    return this.#send(`+${channel}`);
  }

  unsubscribe(channel: string): Promise<unknown> {
    return this.#send(`-${channel}`);
  }

  async close(): Promise<void> {
    if (!this.closed) this.#cluster.log.push(`${this.master} closed`);
    this.closed = true;
    if (this.#cluster.leavesOpen) return;
    for (const reject of this.#unanswered) reject(new Error("the connection was closed"));
  }

  #send(command: string): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#unanswered.add(reject);
      const answer = this.#cluster.answer(`${this.master} ${command}`);
      answer.then(resolve, reject).finally(() => this.#unanswered.delete(reject));
    });
  }
}

/** Masters by their names, and what the Redis client knows of them. */
class ScriptedShards {
  /** What the masters were sent, and when connections began and ended. */
  readonly log: string[] = [];
  readonly connections: ScriptedConnection[] = [];
  /** The master of each channel, as far as the client knows. */
  readonly known = new Map<string, string>();
  /** What it learns when it looks again. */
  readonly learned = new Map<string, string>();
  looks = 0;
  /** Until then the answer to a look is on its way. */
  looking: () => Promise<void> = async () => undefined;
  /** Answers subscriptions; an error is a refusal, a promise keeps whoever asks waiting. */
  answering: (command: string) => unknown = () => undefined;
  /** Whether what is unanswered when a connection is closed stays so. */
  leavesOpen = false;
  /** Becomes of a new connection. */
  opened: (connection: ScriptedConnection) => void = ({ events }) => events.onReady();
  retryDelayMs: (failures: number) => number | undefined = () => RETRY_MS;

  readonly subscriber: Subscriber;

  constructor({ isCluster = true }: { readonly isCluster?: boolean } = {}) {
    const slots = new Slots({
      serverOf: (channel) => this.known.get(channel),
      refresh: async () => {
        this.looks += 1;
        await this.looking();
        for (const [channel, master] of this.learned) this.known.set(channel, master);
      },
    });
    this.subscriber = new Subscriber({
      open: (server, events) => this.#open(server || `${this.connections.length + 1}`, events),
      slots: isCluster ? slots : undefined,
      retryDelayMs: (failures) => this.retryDelayMs(failures),
      toError: (error) => error,
    });
  }

  /** The connection to a master that was made last. */
  at(master: string): ScriptedConnection {
    const connection = this.connections.findLast((made) => made.master === master);
    if (connection === undefined) throw new Error(`nobody has connected to ${master}`);
    return connection;
  }

  async subscribe(channel: string) {
    const listener = new Recorder();
    return { listener, leave: await this.subscriber.subscribe(channel, listener) };
  }

  sent(): string[] {
    return this.log.splice(0);
  }

  #open(master: string, events: ConnectionEvents): ScriptedConnection {
    const connection = new ScriptedConnection(master, events, this);
    this.log.push(`${master} opened`);
    this.connections.push(connection);
    setImmediate(() => this.opened(connection));
    return connection;
  }

  async answer(command: string): Promise<unknown> {
    this.log.push(command);
    const answer = await this.answering(command);
    if (answer instanceof Error) throw answer;
    return answer;
  }
}

let shards: ScriptedShards;
beforeEach(() => {
  shards = new ScriptedShards();
  shards.known.set("a1", "a").set("a2", "a").set("b1", "b");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(async () => {
  await shards.subscriber.close();
  await settled();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** Until subscriptions that ended have been made anew. */
async function retried(ms = RETRY_MS): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  for (let i = 0; i < 3; i++) await settled();
}

function moved(to: string): ServerReplyError {
  return new ServerReplyError(`MOVED 5 ${to}`);
}

describe("listening", () => {
  test("takes one connection for each master that is listened to", async () => {
    const [one, two, three] = await Promise.all(["a1", "a2", "b1"].map((name) => shards.subscribe(name)));
    expect(shards.sent()).toEqual(["a opened", "b opened", "a +a1", "a +a2", "b +b1"]);
    shards.at("a").events.onMessage("a2", "to two");
    shards.at("b").events.onMessage("b1", "to three");
    expect([one, two, three].map((subscribed) => subscribed?.listener.heard)).toEqual([
      ["ready"],
      ["ready", ">to two"],
      ["ready", ">to three"],
    ]);
  });

  test("looks for the master while none is known", async () => {
    shards.learned.set("c1", "c");
    await shards.subscribe("c1");
    expect([shards.looks, shards.sent()]).toEqual([1, ["c opened", "c +c1"]]);
  });

  test("fails when no master is to be found, and is not tried for nobody", async () => {
    await expect(shards.subscribe("c1")).rejects.toThrow('no known master has the slot of "c1"');
    await retried();
    expect([shards.looks, shards.sent()]).toEqual([1, []]);
  });

  test("fails with what the server says, and closes a connection on which nobody listens", async () => {
    shards.answering = () => new ServerReplyError("NOPERM no such channel");
    await expect(shards.subscribe("a1")).rejects.toMatchObject({ code: "NOPERM" });
    expect(shards.sent()).toEqual(["a opened", "a +a1", "a closed"]);
    await retried();
    expect(shards.sent()).toEqual([]);
  });

  test("that was refused to one goes on for the others on the connection", async () => {
    const { listener } = await shards.subscribe("a1");
    shards.answering = () => new ServerReplyError("NOPERM no such channel");
    await expect(shards.subscribe("a2")).rejects.toMatchObject({ code: "NOPERM" });
    shards.at("a").events.onMessage("a1", "still here");
    expect(listener.heard).toEqual(["ready", ">still here"]);
  });

  test("is in nobody's asynchronous context", async () => {
    const requests = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const listener = { onMessage: () => void seen.push(requests.getStore()), onReady: () => undefined };
    shards.answering = () => void seen.push(requests.getStore());
    await requests.run("request", () => shards.subscriber.subscribe("a1", listener));
    shards.at("a").events.onMessage("a1", "news");
    expect(seen).toEqual([undefined, undefined]);
  });
});

describe("whoever leaves", () => {
  test("ends the subscription, and then the connection of which that was the last", async () => {
    const [one, two] = await Promise.all(["a1", "a2"].map((name) => shards.subscribe(name)));
    shards.sent();
    await one?.leave();
    expect(shards.sent()).toEqual(["a -a1"]);
    await two?.leave();
    expect(shards.sent()).toEqual(["a -a2", "a closed"]);
  });

  test("may come again, be it before the answer, on a connection that is new", async () => {
    const { leave } = await shards.subscribe("a1");
    const answered = gate();
    shards.answering = () => answered.opened;
    const left = leave();
    await settled();
    const joined = shards.subscribe("a1");
    answered.open();
    await Promise.all([left, joined]);
    expect(shards.sent()).toEqual(["a opened", "a +a1", "a -a1", "a closed", "a opened", "a +a1"]);
  });

  test("closes a connection that does not answer", async () => {
    const { leave } = await shards.subscribe("a1");
    shards.answering = () => new Promise(() => undefined);
    const left = leave();
    await retried(6_000);
    await left;
    expect(shards.at("a").closed).toBe(true);
    await retried();
    expect(shards.sent()).toEqual(["a opened", "a +a1", "a -a1", "a closed"]);
  });
});

describe("a channel whose slot has moved", () => {
  test("is subscribed to where the client finds it when it looks again", async () => {
    shards.learned.set("a1", "b");
    shards.answering = (command) => (command.startsWith("a ") ? moved("elsewhere") : undefined);
    const { listener } = await shards.subscribe("a1");
    expect(shards.sent()).toEqual(["a opened", "a +a1", "a closed", "b opened", "b +a1"]);
    expect([shards.looks, listener.heard]).toEqual([1, ["ready"]]);
  });

  test("is subscribed to at the address that is told when the client finds nothing new", async () => {
    shards.answering = (command) => (command.startsWith("a ") ? moved("b") : undefined);
    await shards.subscribe("a1");
    expect(shards.sent()).toEqual(["a opened", "a +a1", "a closed", "b opened", "b +a1"]);
  });

  test("is given up when it moves on and on", async () => {
    shards.answering = (command) => moved(command.startsWith("a ") ? "b" : "a");
    await expect(shards.subscribe("a1")).rejects.toMatchObject({ code: "MOVED" });
    expect(shards.sent().filter((entry) => entry.includes("+"))).toEqual([
      "a +a1",
      "b +a1",
      "a +a1",
      "b +a1",
    ]);
  });

  test("while it is listened to is subscribed to anew, with the others of the connection, which are told", async () => {
    const [one, two, three] = await Promise.all(["a1", "a2", "b1"].map((name) => shards.subscribe(name)));
    shards.sent();
    shards.learned.set("a1", "b");
    shards.at("a").events.onEnd(new Error("some subscriptions have ended"));
    await retried();
    expect(shards.sent()).toEqual(["a closed", "a opened", "b +a1", "a +a2"]);
    expect([one, two, three].map((subscribed) => subscribed?.listener.heard)).toEqual([
      ["ready", "ready"],
      ["ready", "ready"],
      ["ready"],
    ]);
    shards.at("b").events.onMessage("a1", "here now");
    expect(one?.listener.heard).toEqual(["ready", "ready", ">here now"]);
  });
});

describe("a master that has given way, and takes subscriptions still as a replica", () => {
  test.each([
    ["by the answer to what the end of its subscriptions asked", 0],
    ["later, when the servers agree about that", 2_000],
  ])("is left for the one that follows it, which is known %s [own-62]", async (_, ms) => {
    const [one, two] = await Promise.all([shards.subscribe("a1"), shards.subscribe("a2")]);
    const answer = gate();
    shards.looking = () => answer.opened;
    shards.at("a").events.onEnd(new Error("some subscriptions have ended"));
    await retried();
    expect(shards.sent().slice(-2)).toEqual(["a +a1", "a +a2"]);
    if (ms > 0) answer.open();
    await retried(ms);
    shards.learned.set("a1", "b");
    answer.open();
    await retried(5_000);
    expect(shards.sent().filter((entry) => !entry.includes("closed"))).toEqual([
      "a -a1",
      "b opened",
      "b +a1",
    ]);
    shards.at("b").events.onMessage("a1", "here now");
    expect(one?.listener.heard).toEqual(["ready", "ready", "ready", ">here now"]);
    expect(two?.listener.heard).toEqual(["ready", "ready"]);
  });
});

describe("who has the slots", () => {
  test("is looked up for as long after the next end, also where that comes while it is looked up", async () => {
    await shards.subscribe("a1");
    shards.at("a").events.onEnd(new Error("some subscriptions have ended"));
    await retried();
    for (const ms of [1_000, 5_000]) await retried(ms);
    const answer = gate();
    shards.looking = () => answer.opened;
    await retried(15_000);
    shards.looking = async () => undefined;
    shards.at("a").events.onEnd(new Error("some subscriptions have ended"));
    await retried();
    answer.open();
    await settled();
    const { looks } = shards;
    await retried(1_000);
    expect(shards.looks - looks).toBe(1);
  });
});

describe("a subscription that is neither answered nor refused when its connection ends", () => {
  test("is made anew all the same, where the slot is then [own-67]", async () => {
    const { listener } = await shards.subscribe("a1");
    shards.leavesOpen = true;
    shards.answering = (command) => (command.startsWith("a ") ? new Promise(() => undefined) : undefined);
    shards.at("a").events.onEnd(new Error("the slot has moved"));
    await retried();
    shards.learned.set("a1", "b");
    shards.at("a").events.onEnd(new Error("the slot has moved, and the server has said so"));
    await retried();
    shards.at("b").events.onMessage("a1", "from the new one");
    expect(listener.heard).toEqual(["ready", "ready", ">from the new one"]);
  });
});

describe("a master that is gone", () => {
  test("is looked for again and again, each time after a pause, until somebody answers", async () => {
    const { listener } = await shards.subscribe("a1");
    shards.sent();
    const failures: number[] = [];
    shards.retryDelayMs = (count) => {
      failures.push(count);
      return RETRY_MS;
    };
    shards.opened = ({ events }) => events.onEnd(new Error("connection refused"));
    shards.at("a").events.onEnd(new Error("the connection broke"));
    for (let i = 0; i < 3; i++) await retried();
    expect(shards.sent().filter((entry) => entry === "a opened")).toHaveLength(3);
    expect(new Set(failures)).toEqual(new Set([1, 2, 3, 4]));
    shards.opened = ({ events }) => events.onReady();
    for (let i = 0; i < 2; i++) await retried();
    expect(listener.heard).toEqual(["ready", "ready"]);
    shards.at("a").events.onMessage("a1", "again");
    expect(listener.heard.at(-1)).toBe(">again");
  });

  test("is tried no more often than the pauses say, however these vary", async () => {
    await shards.subscribe("a1");
    shards.sent();
    let calls = 0;
    shards.retryDelayMs = () => (calls++ % 2 === 0 ? RETRY_MS : 1.5 * RETRY_MS);
    shards.opened = ({ events }) => events.onEnd(new Error("connection refused"));
    shards.at("a").events.onEnd(new Error("the connection broke"));
    for (let i = 0; i < 100; i++) await retried(RETRY_MS / 10);
    expect(shards.sent().filter((entry) => entry === "a opened").length).toBeLessThanOrEqual(10);
  });

  test("is left alone when the client gives up, and looked for again by the next who comes", async () => {
    const { listener } = await shards.subscribe("a1");
    const failures: number[] = [];
    shards.retryDelayMs = (count) => {
      failures.push(count);
      return count < 2 ? RETRY_MS : undefined;
    };
    shards.opened = ({ events }) => events.onEnd(new Error("connection refused"));
    shards.at("a").events.onEnd(new Error("the connection broke"));
    await retried();
    await retried();
    expect(failures).toEqual([1, 2]);
    expect(shards.sent()).toEqual(["a opened", "a +a1", "a closed", "a opened", "a closed"]);
    shards.opened = ({ events }) => events.onReady();
    await shards.subscribe("a2");
    expect(listener.heard).toEqual(["ready", "ready"]);
  });

  test("is not looked for when all who listened have left meanwhile", async () => {
    const { leave } = await shards.subscribe("a1");
    shards.at("a").events.onEnd(new Error("the connection broke"));
    await leave();
    shards.sent();
    await retried();
    expect(shards.sent()).toEqual([]);
  });

  test("that ends in the turn in which it answers is not taken to listen", async () => {
    let answer = () => {};
    shards.opened = (connection) => {
      shards.opened = ({ events }) => events.onReady();
      connection.subscribe = () =>
        new Promise<void>((resolve) => {
          answer = resolve;
        });
      connection.events.onReady();
    };
    const refused = expect(shards.subscribe("a1")).rejects.toThrow("the slot was given away");
    await settled();
    answer();
    shards.at("a").events.onEnd(new Error("the slot was given away"));
    await refused;
    const { listener } = await shards.subscribe("a1");
    shards.at("a").events.onMessage("a1", "hello");
    expect(listener.heard).toEqual(["ready", ">hello"]);
  });

  test("fails those who are joining, and not those who have joined", async () => {
    const { listener } = await shards.subscribe("a1");
    shards.answering = () => new Promise(() => undefined);
    const joining = shards.subscribe("a2").catch((error: unknown) => error);
    await settled();
    shards.answering = () => undefined;
    shards.at("a").events.onEnd(new Error("the connection broke"));
    await retried(6_000);
    expect(await joining).toBeInstanceOf(Error);
    expect(listener.heard).toEqual(["ready", "ready"]);
  });
});

describe("where one server has all channels", () => {
  beforeEach(() => {
    shards = new ScriptedShards({ isCluster: false });
  });

  test("its connection waits for who comes when nobody listens any more", async () => {
    const { leave } = await shards.subscribe("news");
    await leave();
    await shards.subscribe("more");
    expect(shards.sent()).toEqual(["1 opened", "1 +news", "1 -news", "1 +more"]);
  });

  test("who listens is told when messages may have been missed on a connection that stays", async () => {
    const { listener } = await shards.subscribe("news");
    shards.at("1").events.onReady();
    expect(listener.heard).toEqual(["ready", "ready"]);
    expect(shards.sent()).toEqual(["1 opened", "1 +news"]);
  });

  test("a connection that is made for one who comes serves all who have lost theirs", async () => {
    const { listener } = await shards.subscribe("news");
    shards.at("1").events.onEnd(new Error("the connection broke"));
    await shards.subscribe("more");
    await settled();
    expect(listener.heard).toEqual(["ready", "ready"]);
    expect(shards.sent()).toEqual(["1 opened", "1 +news", "1 closed", "2 opened", "2 +more", "2 +news"]);
    await retried();
    expect(shards.sent()).toEqual([]);
  });

  test("who listens, and who is joining, goes along at once when that is another server", async () => {
    const { listener } = await shards.subscribe("news");
    shards.answering = () => new Promise(() => undefined);
    const joining = shards.subscribe("more");
    await settled();
    shards.answering = () => undefined;
    shards.subscriber.move();
    await joining;
    await settled();
    expect(listener.heard).toEqual(["ready", "ready"]);
    expect(shards.sent()).toEqual([
      "1 opened",
      "1 +news",
      "1 +more",
      "1 closed",
      "2 opened",
      "2 +news",
      "2 +more",
    ]);
  });

  test("nothing is opened for nobody when that is another server", async () => {
    shards.subscriber.move();
    const { leave } = await shards.subscribe("news");
    await leave();
    shards.sent();
    shards.subscriber.move();
    await settled();
    expect(shards.sent()).toEqual(["1 closed"]);
  });
});

describe("closing", () => {
  test("ends all connections and forgets who listens", async () => {
    await Promise.all(["a1", "b1"].map((name) => shards.subscribe(name)));
    shards.sent();
    await Promise.all([shards.subscriber.close(), shards.subscriber.close()]);
    expect(shards.sent()).toEqual(["a closed", "b closed"]);
    await expect(shards.subscribe("a1")).rejects.toBeInstanceOf(DriverClosedError);
  });

  test("while a connection is being made ends that, and whoever waits for it", async () => {
    shards.opened = () => undefined;
    const joining = shards.subscribe("a1").catch((error: unknown) => error);
    await settled();
    await shards.subscriber.close();
    expect(await joining).toBeInstanceOf(DriverClosedError);
    await settled();
    expect(shards.sent()).toEqual(["a opened", "a closed"]);
  });

  test("while a slot is looked for opens nothing any more", async () => {
    shards.answering = () => {
      void shards.subscriber.close();
      return moved("b");
    };
    await expect(shards.subscribe("a1")).rejects.toBeInstanceOf(DriverClosedError);
    await settled();
    expect(shards.sent()).toEqual(["a opened", "a +a1", "a closed"]);
  });

  test("while subscriptions wait to be made anew makes none", async () => {
    await shards.subscribe("a1");
    shards.at("a").events.onEnd(new Error("the connection broke"));
    await shards.subscriber.close();
    shards.sent();
    await retried();
    expect(shards.sent()).toEqual([]);
  });
});
