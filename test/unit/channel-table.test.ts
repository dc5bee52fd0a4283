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
  table = new ChannelTable();
  link = new HeldLink();
  listener = new Recorder();
});

describe("a channel", () => {
  it("is subscribed to as soon as there is a link, once for all who listen", async () => {
    const [one, two] = [table.add("news", listener), table.add("news", listener)];
    await settled();
    table.attach(link);
    await settled();
    expect(link.sent).toEqual(["+news"]);
    expect(listener.heard).toEqual([]);
    await link.answer();
    await Promise.all([one, two]);
    table.deliver("news", "a");
    table.deliver("other", "b");
    expect(listener.heard).toEqual(["ready", "ready", ">a", ">a"]);
  });

  it("tells those who listen that messages may have been missed when its link is attached once more, and keeps it [own-11]", async () => {
    table.attach(link);
    const joined = table.add("news", listener);
    await settled();
    const joining = new Recorder();
    void table.add("other", joining);
    await settled();
    await link.answer();
    await joined;
    table.attach(link);
    await settled();
    expect(link.sent).toEqual(["+news", "+other"]);
    expect(listener.heard).toEqual(["ready", "ready"]);
    expect(joining.heard).toEqual([]);
  });

  it("tells whoever comes later in a turn of their own", async () => {
    table.attach(link);
    const first = table.add("news", new Recorder());
    await settled();
    await link.answer();
    await first;
    const later = table.add("news", listener);
    expect(listener.heard).toEqual([]);
    table.deliver("news", "too early");
    await later;
    expect([listener.heard, link.sent]).toEqual([["ready"], ["+news"]]);
  });

  it("is ready by the first message, should that be read before the answer", async () => {
    table.attach(link);
    const joined = table.add("news", listener);
    await settled();
    table.deliver("news", "a");
    expect(listener.heard).toEqual(["ready", ">a"]);
    await joined;
    await link.answer();
    expect(listener.heard).toEqual(["ready", ">a"]);
  });

  it("is left by the last to leave, and only then", async () => {
    table.attach(link);
    const joining = [table.add("news", listener), table.add("news", listener)];
    await settled();
    await link.answer();
    const [first, second] = await Promise.all(joining);
    await first?.();
    expect(link.sent).toEqual(["+news"]);
    const left = second?.();
    await settled();
    table.deliver("news", "unheard");
    expect(link.sent).toEqual(["+news", "-news"]);
    expect(table.inUse).toBe(true);
    await link.answer();
    await Promise.all([left, first?.(), second?.()]);
    expect(listener.heard).toEqual(["ready", "ready"]);
    expect(table.inUse).toBe(false);
    expect(link.sent).toHaveLength(2);
  });

  it("is entered again only after it was left, and messages of before are nobody's", async () => {
    table.attach(link);
    const before = table.add("news", new Recorder());
    await settled();
    await link.answer();
    const left = (await before)();
    await settled();
    const again = table.add("news", listener);
    await settled();
    table.deliver("news", "of the old subscription");
    expect(link.sent).toEqual(["+news", "-news"]);
    await link.answer();
    expect(link.sent).toEqual(["+news", "-news", "+news"]);
    await link.answer();
    await Promise.all([left, again]);
    expect(listener.heard).toEqual(["ready"]);
  });

  it("counts as left when the server refuses to let go", async () => {
    table.attach(link);
    const joined = table.add("news", new Recorder());
    await settled();
    await link.answer();
    const left = (await joined)();
    await settled();
    const again = table.add("news", listener);
    await link.answer(new Error("NOPERM"));
    await link.answer();
    await Promise.all([left, again]);
    expect(listener.heard).toEqual(["ready"]);
  });

  it.each(["first", "later"])("lets a %s listener bring in another while it is told", async (which) => {
    table.attach(link);
    let nested: Promise<unknown> | undefined;
    const joining = [which === "first" ? undefined : table.add("news", new Recorder())];
    await settled();
    if (which === "later") await link.answer();
    joining.push(
      table.add("news", {
        onMessage: () => undefined,
        onReady: () => {
          nested ??= table.add("news", listener);
        },
      }),
    );
    await settled();
    if (which === "first") await link.answer();
    await Promise.all(joining);
    await nested;
    table.deliver("news", "a");
    expect([listener.heard, link.sent]).toEqual([["ready", ">a"], ["+news"]]);
  });

  it("is left although its only listener leaves as soon as it may", async () => {
    table.attach(link);
    const left = table.add("news", listener).then((leave) => leave());
    await settled();
    await link.answer();
    await link.answer();
    await left;
    expect(link.sent).toEqual(["+news", "-news"]);
    expect(table.inUse).toBe(false);
  });
});

describe("a refused subscription", () => {
  it("is told to all who were joining, and forgotten", async () => {
    table.attach(link);
    const failed = [table.add("news", listener), table.add("news", listener)];
    const reasons = Promise.allSettled(failed);
    await settled();
    await link.answer(new Error("NOPERM"));
    for (const result of await reasons) expect(result).toMatchObject({ reason: { message: "NOPERM" } });
    expect(table.inUse).toBe(false);
    const joined = table.add("news", listener);
    await settled();
    await link.answer();
    await joined;
    expect(listener.heard).toEqual(["ready"]);
  });

  it("of those who listened before is tried again when somebody joins", async () => {
    table.attach(link);
    const joined = table.add("news", listener);
    await settled();
    await link.answer();
    await joined;
    table.detach(new Error("gone"));
    table.attach(link);
    await settled();
    await link.answer(new Error("NOPERM"));
    expect(link.sent).toEqual(["+news", "+news"]);
    expect(table.inUse).toBe(true);
    const another = table.add("news", new Recorder());
    await settled();
    await link.answer();
    await another;
    expect(listener.heard).toEqual(["ready", "ready"]);
  });
});

describe("a lost link", () => {
  it("refuses those who were joining, keeps the others, and its late answers change nothing", async () => {
    table.attach(link);
    const joined = table.add("news", listener);
    await settled();
    await link.answer();
    await joined;
    const joining = table.add("more-news", new Recorder());
    const reason = expect(joining).rejects.toThrow("the link is gone");
    await settled();
    table.detach(new Error("the link is gone"));
    await reason;
    await link.answer(new Error("late"));

    const next = new HeldLink();
    table.attach(next);
    await settled();
    expect(next.sent).toEqual(["+news"]);
    await next.answer();
    table.deliver("news", "a");
    expect(listener.heard).toEqual(["ready", "ready", ">a"]);
  });

  it("does not let an old answer speak for the new link", async () => {
    table.attach(link);
    const joined = table.add("news", listener);
    await settled();
    await link.answer();
    await joined;
    const [second, third, fourth] = [new HeldLink(), new HeldLink(), new HeldLink()];
    for (const next of [second, third, fourth]) {
      table.detach(new Error("gone"));
      table.attach(next);
      await settled();
      expect(next.sent).toEqual(["+news"]);
    }
    await second.answer();
    await third.answer(new Error("late"));
    table.deliver("other", "a");
    expect(listener.heard).toEqual(["ready"]);
    await fourth.answer();
    expect(listener.heard).toEqual(["ready", "ready"]);
  });

  it("lets go at once of who leaves meanwhile", async () => {
    table.attach(link);
    const joined = table.add("news", listener);
    await settled();
    await link.answer();
    table.detach(new Error("gone"));
    await (await joined)();
    expect(table.inUse).toBe(false);
    const next = new HeldLink();
    table.attach(next);
    await settled();
    expect(next.sent).toEqual([]);
  });

  it("releases who was leaving when it was lost", async () => {
    table.attach(link);
    const joined = table.add("news", listener);
    await settled();
    await link.answer();
    const left = (await joined)();
    await settled();
    table.detach(new Error("gone"));
    await link.answer(new Error("gone"));
    await left;
    expect(table.inUse).toBe(false);
  });
});
