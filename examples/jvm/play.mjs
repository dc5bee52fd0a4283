// @ts-check
/** Lets this process and a JVM with Redisson use one lock, and checks that no deposit is lost. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { events, Holdfast } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";
import { withRedis } from "../with-redis.mjs";
import { deposit } from "./account.mjs";
import { buildJvm, Jvm } from "./jvm.mjs";

const DEPOSITS = 300;
const NAME = "account:42";

/** Waits until a process listens for the release of the lock. None has listened before. @param {Holdfast} holdfast */
async function anotherWaits(holdfast) {
  while (((await holdfast.inspect(NAME)).listeners ?? 0) === 0) await pause(10);
}

/** Waits until a call of this process finds the lock held. */
function thisWaits() {
  return new Promise((resolve) => {
    const onContended = () => {
      events.contended.unsubscribe(onContended);
      resolve(undefined);
    };
    events.contended.subscribe(onContended);
  });
}

/** @param {Promise<unknown>} end @returns {Promise<number>} how many milliseconds it takes from now */
async function msUntil(end) {
  const startMs = performance.now();
  await end;
  return Math.round(performance.now() - startMs);
}

/** @typedef {{ jvm: Jvm, id: string, holdfast: Holdfast, redis: import("ioredis").Redis }} Stage */

/** @type {((stage: Stage) => Promise<string>)[]} each returns a line for the reader */
const scenes = [
  async ({ jvm, holdfast }) => {
    const lease = await holdfast.getLock(NAME).lock();
    const enters = jvm.obey("lock");
    await anotherWaits(holdfast);
    const entered = msUntil(enters);
    await lease.unlock();
    return `Node releases: the JVM that waits has the lock ${await entered} ms later`;
  },
  async ({ id, holdfast }) => {
    const { holders } = await holdfast.inspect(NAME);
    assert.equal(holders.length, 1);
    assert.equal(holders[0]?.split(":")[0], id);
    return `Node inspects the lock: its holder is ${holders[0]}, and redisson.getId() of the JVM is ${id}`;
  },
  async ({ jvm, holdfast }) => {
    const waits = thisWaits();
    const enters = holdfast.getLock(NAME).lock();
    await waits;
    const entered = msUntil(enters);
    await jvm.obey("unlock");
    const answer = `the JVM releases: Node, which waits, has the lock ${await entered} ms later`;
    await (await enters).unlock();
    return answer;
  },
  async ({ jvm, holdfast, redis }) => {
    const inJava = (async () => {
      for (let nth = 0; nth < DEPOSITS; nth += 1) await jvm.obey("deposit");
    })();
    const inNode = (async () => {
      for (let nth = 0; nth < DEPOSITS; nth += 1) await deposit({ holdfast, redis }, 1);
    })();
    await Promise.all([inJava, inNode]);
    return `both deposit ${DEPOSITS} times at once, each time by reading and writing: the balance is ${await redis.get("balance:42")}`;
  },
  async ({ jvm, holdfast }) => {
    await jvm.obey("lock");
    jvm.kill();
    const lease = holdfast.getLock(NAME).lock({ waitMs: 10_000 });
    const answer = `the JVM is killed while it has the lock: Node has it ${await msUntil(lease)} ms later, when its lease is over`;
    await (await lease).unlock();
    return answer;
  },
];

const obstacle = buildJvm();
if (obstacle !== undefined)
  console.log(`This example needs a JDK from 17 on and Maven, and is skipped: ${obstacle}`);
else
  await withRedis(async (url) => {
    const redis = new Redis(url);
    const holdfast = new Holdfast(ioredisDriver(redis));
    await redis.set("balance:42", 0);
    const jvm = new Jvm(url);
    try {
      const id = await jvm.ready();
      for (const scene of scenes) console.log(await scene({ jvm, id, holdfast, redis }));
      const balance = Number(await redis.get("balance:42"));
      console.log(`${2 * DEPOSITS} deposits by Node and by Java: the balance is ${balance}`);
      return balance === 2 * DEPOSITS;
    } finally {
      jvm.kill();
      await holdfast.close();
      redis.disconnect();
    }
  });
