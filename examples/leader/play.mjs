// @ts-check
/** Plays with three processes that stand for leader, and checks that no two believed at the same time to lead. */
import { fork } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { withRedis } from "../with-redis.mjs";

/** @typedef {{ name: string, token: bigint, atMs: number }} Step that a process took, believing to lead */
/** @typedef {{ name: string, token: bigint, firstMs: number, lastMs: number }} Term */

const nowMs = () => Number(process.hrtime.bigint() / 1_000n) / 1_000;
const startMs = nowMs();
/** @param {string} text @param {number} [atMs] */
const say = (text, atMs) =>
  console.log(`${atMs === undefined ? "" : ((atMs - startMs) / 1_000).toFixed(2)}`.padStart(6), ` ${text}`);

/** @type {Term[]} in the order in which their tokens were heard of */
const terms = [];
/** Tells of a "step", a new "term" and the "end" of a term that was lost. */
const news = new EventEmitter();
/** @type {Map<string, import("node:child_process").ChildProcess>} */
const processes = new Map();

/** @param {string} name @param {string} url */
function start(name, url) {
  const child = fork(new URL("candidate.mjs", import.meta.url), { env: { ...process.env, REDIS_URL: url } });
  child.on("message", (/** @type {{ token: string, atMs: number } | { error: string }} */ message) => {
    if ("error" in message) {
      say(`${name} heard: ${message.error}`, nowMs());
      news.emit("end", name);
    } else noteStep({ name, token: BigInt(message.token), atMs: message.atMs });
  });
  processes.set(name, child);
}

/** @param {Step} step */
function noteStep({ name, token, atMs }) {
  const term = terms.find((other) => other.token === token);
  if (term === undefined) {
    terms.push({ name, token, firstMs: atMs, lastMs: atMs });
    say(`${name} leads, token ${token}`, atMs);
    news.emit("term");
  } else term.lastMs = atMs;
  news.emit("step", name);
}

/** @param {NodeJS.Signals} signal @param {string} words */
async function sendToLeader(signal, words) {
  const former = terms.at(-1)?.name ?? "";
  const child = processes.get(former);
  const next = once(news, "term");
  say(`${words} ${former}`);
  const sentMs = nowMs();
  const ended = signal !== "SIGSTOP" && child !== undefined && once(child, "exit");
  child?.kill(signal);
  await next;
  say(`${Math.round((terms.at(-1)?.firstMs ?? 0) - sentMs)} ms later`);
  await ended;
  return former;
}

/** @param {string} name of the process that takes two more steps */
async function twoSteps(name) {
  for (let steps = 0; steps < 2; ) {
    const [by] = await once(news, "step");
    if (by === name) steps += 1;
  }
}

/** @param {string} name */
async function end(name) {
  const child = processes.get(name);
  if (child === undefined) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}

await withRedis(async (url) => {
  const first = once(news, "term");
  for (const name of ["a", "b", "c"]) start(name, url);
  await first;

  start(await sendToLeader("SIGKILL", "kill -KILL"), url);
  start(await sendToLeader("SIGTERM", "kill -TERM"), url);
  const stopped = await sendToLeader("SIGSTOP", "kill -STOP");
  const leading = terms.at(-1)?.name ?? "";
  say(`kill -CONT ${stopped}`);
  const heard = once(news, "end");
  processes.get(stopped)?.kill("SIGCONT");
  await heard;
  await twoSteps(leading);

  // The leader last: otherwise the others would lead for a moment.
  for (const name of processes.keys()) if (name !== leading) await end(name);
  await end(leading);

  const pairs = terms.slice(1).map((term, before) => ({ term, former: terms[before] }));
  const grew = pairs.every(({ term, former }) => former !== undefined && term.token > former.token);
  const alone = pairs.every(({ term, former }) => former !== undefined && term.firstMs > former.lastMs);
  console.log(
    `${terms.length} terms: tokens ${grew ? "grew" : "DID NOT GROW"}, ${alone ? "never two" : "TWO"} believed leaders`,
  );
  return grew && alone && terms.length === 4;
});
