import { deepStrictEqual, ok, strictEqual } from "node:assert";
import { type ConformanceCase, conformanceCase, Recorder } from "./conformance-case.js";

/** The promises of `subscribe`. */
export const channelCases: readonly ConformanceCase[] = [
  conformanceCase(
    "listens before it resolves, and delivers each message in order",
    [],
    async (stage, { keepsOrder }) => {
      const [driver, other] = [await stage.connect(), await stage.connect()];
      const [channel, listener] = [stage.channel("one"), new Recorder()];
      await stage.listen(driver, channel, listener);
      deepStrictEqual(listener.heard, ["ready"]);
      const messages = Array.from({ length: 50 }, (_, i) => `message ${i}`);
      const published = [];
      for (const message of messages) {
        const sent = stage.publish(other, channel, message);
        published.push(sent);
        // Commands on different connections of a pool may overtake each other.
        if (!keepsOrder) await sent;
      }
      await Promise.all(published);
      await listener.until(51);
      deepStrictEqual(listener.heard, ["ready", ...messages.map((message) => `>${message}`)]);
    },
  ),

  conformanceCase("keeps any text of channels and messages", [], async (stage) => {
    const driver = await stage.connect();
    const listener = new Recorder();
    const channel = stage.channel("grüße 🔒\r\n");
    await stage.listen(driver, channel, listener);
    const messages = ["", "0", "鍵", "a\r\nb\0c"];
    for (const message of messages) await stage.publish(driver, channel, message);
    await listener.until(5);
    deepStrictEqual(listener.heard, ["ready", ...messages.map((message) => `>${message}`)]);
  }),

  conformanceCase("reaches the listeners of all drivers when a script publishes", [], async (stage) => {
    const drivers = [await stage.connect(), await stage.connect(), await stage.connect()] as const;
    const channel = stage.channel("one");
    const listeners = drivers.map(() => new Recorder());
    await Promise.all(
      drivers.map((driver, i) => stage.listen(driver, channel, listeners[i] ?? new Recorder())),
    );
    await stage.publish(drivers[0], channel, "all");
    await Promise.all(listeners.map((listener) => listener.until(2)));
    for (const { heard } of listeners) deepStrictEqual(heard, ["ready", ">all"]);
  }),

  conformanceCase("keeps channels apart", [], async (stage) => {
    const driver = await stage.connect();
    const [one, two] = [new Recorder(), new Recorder()];
    await Promise.all([
      stage.listen(driver, stage.channel("one"), one),
      stage.listen(driver, stage.channel("two"), two),
    ]);
    for (const [channel, message] of [
      ["two", "a"],
      ["one", "b"],
      ["three", "c"],
      ["two", "d"],
    ] as const) {
      await stage.publish(driver, stage.channel(channel), message);
    }
    await Promise.all([one.until(2), two.until(3)]);
    deepStrictEqual(
      [one.heard, two.heard],
      [
        ["ready", ">b"],
        ["ready", ">a", ">d"],
      ],
    );
  }),

  conformanceCase("keeps the latest listener of a channel, whichever listener leaves", [], async (stage) => {
    const driver = await stage.connect();
    const channel = stage.channel("one");
    const [before, latest] = [new Recorder(), new Recorder()];
    const leaveBefore = await stage.listen(driver, channel, before);
    const leave = await stage.listen(driver, channel, latest);
    await stage.publish(driver, channel, "a");
    await latest.until(2);
    await leaveBefore();
    await stage.publish(driver, channel, "b");
    await latest.until(3);
    deepStrictEqual(latest.heard, ["ready", ">a", ">b"]);
    await leave();
  }),

  conformanceCase("hears nothing after it stopped listening, and can listen again", [], async (stage) => {
    const driver = await stage.connect();
    const channel = stage.channel("one");
    const [gone, witness, back] = [new Recorder(), new Recorder(), new Recorder()];
    await stage.listen(driver, stage.channel("two"), witness);
    const leave = await stage.listen(driver, channel, gone);
    await Promise.all([leave(), leave()]);
    await leave();
    await stage.publish(driver, channel, "unheard");
    // In a cluster, servers forward messages to each other in order.
    await stage.publish(driver, stage.channel("two"), "marker");
    await witness.until(2);
    const again = stage.listen(driver, channel, back);
    await leave();
    await again;
    await stage.publish(driver, channel, "heard");
    await stage.publish(driver, stage.channel("two"), "marker");
    await Promise.all([back.until(2), witness.until(3)]);
    deepStrictEqual([gone.heard, back.heard], [["ready"], ["ready", ">heard"]]);
  }),

  conformanceCase("listens when one listener leaves while another joins", [], async (stage) => {
    const driver = await stage.connect();
    const channel = stage.channel("one");
    for (let round = 0; round < 20; round += 1) {
      const [before, after] = [new Recorder(), new Recorder()];
      const leave = await stage.listen(driver, channel, before);
      const left = leave();
      const stop = await stage.listen(driver, channel, after);
      await left;
      await stage.publish(driver, channel, "heard");
      await after.until(2);
      deepStrictEqual([before.heard, after.heard], [["ready"], ["ready", ">heard"]]);
      await stop();
    }
  }),

  conformanceCase("stops listening when it is closed", [], async (stage) => {
    const [driver, other] = [await stage.connect(), await stage.connect()];
    const [channel, listener, witness] = [stage.channel("one"), new Recorder(), new Recorder()];
    const leave = await stage.listen(driver, channel, listener);
    await stage.listen(other, channel, witness);
    await driver.close();
    await stage.publish(other, channel, "unheard");
    await witness.until(2);
    deepStrictEqual(listener.heard, ["ready"]);
    await leave();
  }),

  conformanceCase(
    "listens again after its connection broke, and says so",
    ["cut-subscriber"],
    async (stage, harness) => {
      const [driver, other] = [await stage.connect(), await stage.connect()];
      const [one, two] = [new Recorder(), new Recorder()];
      const leave = await stage.listen(driver, stage.channel("one"), one);
      await stage.listen(driver, stage.channel("two"), two);
      const { resets } = driver;
      await harness.cutSubscriber?.(driver);
      await Promise.all([one.until(2), two.until(2)]);
      await stage.publish(other, stage.channel("one"), "a");
      await stage.publish(other, stage.channel("two"), "b");
      await Promise.all([one.until(3), two.until(3)]);
      deepStrictEqual(
        [one.heard, two.heard],
        [
          ["ready", "ready", ">a"],
          ["ready", "ready", ">b"],
        ],
      );
      strictEqual(driver.resets, resets, "this connection carries no scripts");
      await leave();
    },
  ),

  conformanceCase("is subscribed only while a listener is there", ["count-receivers"], async (stage) => {
    const driver = await stage.connect();
    const channel = stage.channel("one");
    const leave = await stage.listen(driver, channel, new Recorder());
    ok(Number(await stage.publish(driver, channel, "heard")) > 0);
    await leave();
    strictEqual(await stage.publish(driver, channel, "unheard"), 0);
  }),
];
