import { beforeEach, describe, expect, it } from "vitest";
import { Recorder } from "../../src/driver/conformance/conformance-case.js";
import { ChannelTable, type PubSubLink } from "../../src/driver/own/channel-table.js";

/** A link whose answers the test gives, one by one in the order of the commands. */
class HeldLink implements PubSubLink {
  readonly sent: string[] = [];
  readonly #answers: { resolve(): void; reject(error: Error): void }[] = [];

  subscribe(channel: string): Promise<void> {
    return this.#send(`+${channel}`);
  }

  unsubscribe(channel: string): Promise<void> {
    return this.#send(`-${channel}`);
  }

  async answer(error?: Error): Promise<void> {
    const answer = this.#answers.shift();
    if (answer === undefined) throw new Error("nothing waits for an answer");
    if (error === undefined) answer.resolve();
    else answer.reject(error);
    await settled();
  }

  #send(command: string): Promise<void> {
    this.sent.push(command);
    return new Promise((resolve, reject) => this.#answers.push({ resolve, reject }));
  }
}

/** Everything here happens in promises, which are all done before the next turn of the event loop. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

let table: ChannelTable;
let link: HeldLink;
let listener: Recorder;
beforeEach(() => {
  link = new HeldLink();
  table = new ChannelTable(link);
  listener = new Recorder();
});

/** Somebody listens to the channel by now. */
async function joined(): Promise<() => Promise<void>> {
  const joining = table.add("news", listener);
  await settled();
  await link.answer();
  return joining;
}

describe("a channel", () => {
  it("is subscribed to in a turn of its own, and heard from the answer on", async () => {
    const joining = table.add("news", listener);
    expect(link.sent).toEqual([]);
    await settled();
    expect([link.sent, table.isHeard("news")]).toEqual([["+news"], false]);
    await link.answer();
    await joining;
    table.deliver("news", "a");
    table.deliver("other", "b");
    expect(listener.heard).toEqual(["ready", ">a"]);
    expect(table.isHeard("news")).toBe(true);
  });

  it("tells who listens that messages may have been missed, and no one else [own-11]", async () => {
    await joined();
    const joining = new Recorder();
    void table.add("other", joining);
    await settled();
    table.missed(["news", "other", "unknown"]);
    expect(link.sent).toEqual(["+news", "+other"]);
    expect(listener.heard).toEqual(["ready", "ready"]);
    expect(joining.heard).toEqual([]);
  });

  it("is ready by the first message, should that be read before the answer", async () => {
    const joining = table.add("news", listener);
    await settled();
    table.deliver("news", "a");
    expect(listener.heard).toEqual(["ready", ">a"]);
    await joining;
    await link.answer();
    expect(listener.heard).toEqual(["ready", ">a"]);
  });

  it("is left once, by whoever listens to it", async () => {
    const leave = await joined();
    const left = leave();
    await settled();
    table.deliver("news", "unheard");
    expect(link.sent).toEqual(["+news", "-news"]);
    await link.answer();
    await Promise.all([left, leave()]);
    expect(listener.heard).toEqual(["ready"]);
    expect(link.sent).toHaveLength(2);
  });

  it("is entered again only after it was left, and messages of before are nobody's", async () => {
    const leave = await joined();
    const left = leave();
    await settled();
    const next = new Recorder();
    const again = table.add("news", next);
    await settled();
    table.deliver("news", "of the old subscription");
    expect(link.sent).toEqual(["+news", "-news"]);
    await link.answer();
    expect(link.sent).toEqual(["+news", "-news", "+news"]);
    await link.answer();
    await Promise.all([left, again]);
    expect(next.heard).toEqual(["ready"]);
  });

  it("counts as left when the server refuses to let go", async () => {
    const left = (await joined())();
    await settled();
    const next = new Recorder();
    const again = table.add("news", next);
    await link.answer(new Error("NOPERM"));
    await link.answer();
    await Promise.all([left, again]);
    expect(next.heard).toEqual(["ready"]);
  });

  it("is left although its listener leaves as soon as it may", async () => {
    const left = table.add("news", listener).then((leave) => leave());
    await settled();
    await link.answer();
    await link.answer();
    await left;
    expect(link.sent).toEqual(["+news", "-news"]);
  });
});

describe("who listens to a channel that another has", () => {
  it("takes it over in a turn of its own, without asking the server", async () => {
    const leave = await joined();
    const next = new Recorder();
    const joining = table.add("news", next);
    expect(next.heard).toEqual([]);
    table.deliver("news", "too early");
    await joining;
    table.deliver("news", "a");
    await leave();
    table.deliver("news", "b");
    expect([listener.heard, next.heard]).toEqual([["ready"], ["ready", ">a", ">b"]]);
    expect(link.sent).toEqual(["+news"]);
  });

  it("takes the place of one that is still joining", async () => {
    const refused = expect(table.add("news", new Recorder())).rejects.toThrow("another listener");
    const joining = table.add("news", listener);
    await settled();
    await link.answer();
    await Promise.all([refused, joining]);
    expect([listener.heard, link.sent]).toEqual([["ready"], ["+news"]]);
  });

  it("may come while that one is told", async () => {
    let nested: Promise<unknown> | undefined;
    const first = table.add("news", {
      onMessage: () => undefined,
      onReady: () => {
        nested ??= table.add("news", listener);
      },
    });
    await settled();
    await link.answer();
    await first;
    await nested;
    table.deliver("news", "a");
    expect([listener.heard, link.sent]).toEqual([["ready", ">a"], ["+news"]]);
  });
});

describe("a refused subscription", () => {
  it("is told to who was joining, and forgotten", async () => {
    const failed = expect(table.add("news", listener)).rejects.toThrow("NOPERM");
    await settled();
    await link.answer(new Error("NOPERM"));
    await failed;
    table.renew(["news"]);
    await settled();
    expect(link.sent).toEqual(["+news"]);
    await joined();
    expect(listener.heard).toEqual(["ready"]);
  });

  it("of one that listened before is tried again when it is renewed", async () => {
    await joined();
    table.lost(["news"]);
    table.renew(["news"]);
    await settled();
    await link.answer(new Error("NOPERM"));
    expect([link.sent, table.isHeard("news")]).toEqual([["+news", "+news"], true]);
    table.renew(["news"]);
    await settled();
    await link.answer();
    expect(listener.heard).toEqual(["ready", "ready"]);
  });
});

describe("a lost subscription", () => {
  it("is made anew when it is renewed, and that is told", async () => {
    await joined();
    expect([table.lost(["news", "other"]), table.lost(["news"])]).toEqual([true, false]);
    await settled();
    expect(link.sent).toEqual(["+news"]);
    table.renew(["news"]);
    await settled();
    await link.answer();
    table.deliver("news", "a");
    expect(listener.heard).toEqual(["ready", "ready", ">a"]);
  });

  it("is not made anew for one that has left meanwhile", async () => {
    const leave = await joined();
    table.lost(["news"]);
    await leave();
    table.renew(["news"]);
    await settled();
    expect(link.sent).toEqual(["+news"]);
  });

  it("that is being made is not lost: its answer is to come", async () => {
    const joining = table.add("news", listener);
    await settled();
    expect(table.lost(["news"])).toBe(false);
    await link.answer();
    await joining;
    expect(listener.heard).toEqual(["ready"]);
  });
});

describe("a table that is cleared", () => {
  it("refuses who was joining, and sends nothing more for others", async () => {
    const leave = await joined();
    const refused = expect(table.add("more-news", new Recorder())).rejects.toThrow("closed");
    await settled();
    table.clear(new Error("closed"));
    await refused;
    await link.answer(new Error("closed"));
    await leave();
    table.deliver("news", "unheard");
    expect([link.sent, listener.heard]).toEqual([["+news", "+more-news"], ["ready"]]);
  });
});
