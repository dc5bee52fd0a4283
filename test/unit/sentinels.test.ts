import { afterEach, beforeEach, expect, test } from "vitest";
import { Sentinels } from "../../src/driver/own/sentinels.js";
import { gate } from "../support/run/gate.js";
import { until } from "../support/run/until.js";
import { ScriptedSentinel } from "../support/servers/scripted-sentinel.js";

const ABOUT_TO = "the Sentinels are about to make another server the master";

let watchers: readonly [ScriptedSentinel, ScriptedSentinel, ScriptedSentinel];
let named: string[];
let sentinels: Sentinels;
beforeEach(async () => {
  watchers = [new ScriptedSentinel(), new ScriptedSentinel(), new ScriptedSentinel()];
  named = [];
  sentinels = new Sentinels(
    watchers.map(({ open }) => open),
    "main",
    (master) => named.push(master),
  );
  sentinels.listen();
  await sentinels.ask();
  await new Promise(setImmediate);
});
afterEach(() => sentinels.close());

test("a failover is known of from the message on that tells of its beginning, before any question [own-93]", async () => {
  expect(sentinels.isFailingOver).toBe(false);
  watchers[1].isFailingOver = true;
  watchers[1].tell("+try-failover");
  expect(sentinels.isFailingOver).toBe(true);
  await expect(sentinels.confirm()).rejects.toThrow(ABOUT_TO);
});

test("an answer that was made before a failover began does not say that there is none [own-93]", async () => {
  const slow = gate();
  watchers[1].answersAfter = slow.opened;
  const asked = sentinels.ask();
  await new Promise(setImmediate);
  watchers[1].tell("+try-failover");
  watchers[1].isFailingOver = true;
  slow.open();
  await asked;
  expect(sentinels.isFailingOver).toBe(true);
});

test("only the Sentinel that leads a failover can say that it is over, though the others have answered [own-93]", async () => {
  const slow = gate();
  watchers[1].answersAfter = slow.opened;
  watchers[1].tell("+try-failover");
  await expect(sentinels.confirm()).rejects.toThrow(ABOUT_TO);
  slow.open();
  // It was given up, and has named no other master.
  await until(async () => !sentinels.isFailingOver || (await sentinels.ask()) === undefined);
  await sentinels.confirm();
  expect(new Set(named)).toEqual(new Set(["h:1"]));
});

test("a client that begins in the midst of a failover knows of it with the first answer [own-93]", async () => {
  watchers[2].isFailingOver = true;
  await sentinels.ask();
  expect(sentinels.isFailingOver).toBe(true);
  Object.assign(watchers[2], { isFailingOver: false, master: 2, epoch: 1 });
  await sentinels.confirm();
  expect([sentinels.isFailingOver, named.at(-1)]).toEqual([false, "h:2"]);
});

test("a user who may not listen to failovers is told of another master all the same", async () => {
  const watcher = new ScriptedSentinel();
  watcher.refused.add("+try-failover");
  const masters: string[] = [];
  const alone = new Sentinels([watcher.open], "main", (master) => masters.push(master));
  alone.listen();
  await alone.ask();
  Object.assign(watcher, { master: 2, epoch: 1 });
  watcher.tell("+switch-master");
  await until(() => masters.includes("h:2"));
  expect(masters.at(-1)).toBe("h:2");
  await alone.close();
});
