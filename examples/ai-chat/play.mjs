// @ts-check
/** Plays users whose messages two processes answer, and checks that no two turns of a conversation ran at the same time. */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { Holdfast } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";
import { withRedis } from "../with-redis.mjs";
import { History } from "./history.mjs";

/**
 * @typedef {{ conversation: string, text: string, fromMs?: number, toMs?: number }} Turn with the times of its first and last word
 * @typedef {Turn & { type: "begins" | "ends" | "stops" | "waits", reason?: string }} News
 */
/** @typedef {import("node:child_process").ChildProcess} Member */

const CONVERSATIONS = ["trip", "recipe", "poem", "essay", "code", "joke"];

/** Emits the news of a message, as in "hello 10 ends", and of a conversation, as in "trip waits". */
const heard = new EventEmitter().setMaxListeners(100);
/** @type {Turn[]} that are over */
const turns = [];

/** @param {string} url */
async function start(url) {
  const member = fork(new URL("member.mjs", import.meta.url), { env: { ...process.env, REDIS_URL: url } });
  await once(member, "message");
  member.on("message", (/** @type {News} */ news) => {
    if (news.type === "ends" || news.type === "stops") turns.push(news);
    heard.emit(`${news.type === "waits" ? news.conversation : news.text} ${news.type}`, news);
  });
  return member;
}

/** Waits for news of that name. @param {string} what @returns {Promise<News>} */
const until = async (what) => (await once(heard, what))[0];

/** Sends a message, and waits until its turn begins or has to wait. @param {Member} member @param {string} conversation @param {string} text */
async function send(member, conversation, text) {
  const outcome = Promise.race([until(`${text} begins`), until(`${conversation} waits`)]);
  member.send({ conversation, text });
  return (await outcome).type;
}

/** Whether two turns of a conversation were answered at the same time. */
function haveOverlapped() {
  const answered = turns.flatMap(({ conversation, fromMs, toMs = 0 }) =>
    fromMs === undefined ? [] : [{ conversation, fromMs, toMs }],
  );
  return answered.some((turn) =>
    answered.some(
      (other) =>
        other !== turn &&
        other.conversation === turn.conversation &&
        other.fromMs <= turn.fromMs &&
        turn.fromMs < other.toMs,
    ),
  );
}

/** @typedef {{ a: Member, b: Member, holdfast: Holdfast, history: History }} Stage */

/** @type {((stage: Stage) => Promise<string>)[]} each returns a line for the reader */
const scenes = [
  async ({ a, b, history }) => {
    const ends = ["first 60", "second 5", "third 5"].map((text) => until(`${text} ends`));
    assert.equal(await send(a, "trip", "first 60"), "begins");
    assert.equal(await send(b, "trip", "second 5"), "waits");
    assert.equal(await send(a, "trip", "third 5"), "waits");
    await Promise.all(ends);
    const stored = await history.read("trip");
    assert.deepEqual(
      stored.map(({ text }) => text),
      ["first 60", "second 5", "third 5"],
    );
    return "three messages of one conversation, sent to both processes: answered one by one, in their order";
  },
  async ({ a, b }) => {
    const long = until("a menu 200 ends");
    assert.equal(await send(a, "recipe", "a menu 200"), "begins");
    const short = until("a rhyme 5 ends");
    assert.equal(await send(b, "poem", "a rhyme 5"), "begins");
    assert.equal(await Promise.race([long, short]), await short);
    await long;
    return "two conversations: neither waits for the other";
  },
  async ({ a, b, history }) => {
    const stops = until("a novel 3000 stops");
    assert.equal(await send(a, "essay", "a novel 3000"), "begins");
    const leaves = until("a preface 5 stops");
    assert.equal(await send(b, "essay", "a preface 5"), "waits");
    b.send({ stop: "a preface 5" });
    assert.equal((await leaves).reason, "stopped by the user");
    const next = until("a page 5 ends");
    assert.equal(await send(b, "essay", "a page 5"), "waits");
    a.send({ stop: "a novel 3000" });
    assert.equal((await stops).reason, "stopped by the user");
    await next;
    assert.equal(turns.find(({ text }) => text === "a preface 5")?.fromMs, undefined);
    assert.equal((await history.read("essay")).length, 1);
    return "the user stops an answer, and a message that waits: the next message gets its turn, and nothing else is stored";
  },
  async ({ a, holdfast, history }) => {
    const stops = until("a program 3000 stops");
    assert.equal(await send(a, "code", "a program 3000"), "begins");
    await holdfast.getFairLock("conversation:code").forceUnlock();
    const { reason } = await stops;
    assert.match(reason ?? "", /lost/);
    assert.equal((await history.read("code")).length, 0);
    return `the lock is lost in the middle of an answer: the model stops (${reason})`;
  },
  async ({ a, b }) => {
    assert.equal(await send(a, "joke", "a long one 3000"), "begins");
    const ends = until("a short one 5 ends");
    assert.equal(await send(b, "joke", "a short one 5"), "waits");
    const startMs = performance.now();
    a.kill("SIGKILL");
    await ends;
    return `a process dies in the middle of an answer: the next turn is over ${((performance.now() - startMs) / 1_000).toFixed(1)} s later`;
  },
];

await withRedis(async (url) => {
  const redis = new Redis(url);
  const holdfast = new Holdfast(ioredisDriver(redis));
  const history = new History(redis);
  await redis.del(CONVERSATIONS.map((conversation) => `chat:${conversation}`));
  const [a, b] = await Promise.all([start(url), start(url)]);
  try {
    for (const scene of scenes) console.log(await scene({ a, b, holdfast, history }));
    const exit = once(b, "exit");
    b.kill("SIGTERM");
    assert.deepEqual(await exit, [0, null]);
    const stored = await Promise.all(CONVERSATIONS.map((conversation) => history.read(conversation)));
    const isWhole = stored.every((list) =>
      list.every(({ answer }, nth) => answer.startsWith(`read:${nth} `)),
    );
    const isAlone = !haveOverlapped();
    console.log(
      `${stored.flat().length} turns: ${isAlone ? "never two" : "TWO"} of a conversation at once, and ${isWhole ? "each knew" : "NOT EACH KNEW"} all before it`,
    );
    return isAlone && isWhole;
  } finally {
    for (const member of [a, b]) member.kill("SIGKILL");
    await holdfast.close();
    redis.disconnect();
  }
});
