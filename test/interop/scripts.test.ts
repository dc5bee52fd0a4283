/**
 * Records the scripts of Redisson, byte for byte, for the JVM that the simulator plays: each operation on a real server,
 * under `MONITOR`. `npm run test:interop -- --write` writes them anew; without `--write` it fails when they would change.
 * One release alone, after `node scripts/redisson.mjs`:
 *
 *   HOLDFAST_WRITE_RECORDS=1 npx vitest run test/interop/scripts.test.ts
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { release, since } from "../support/jvm/interop.js";
import { JvmUser } from "../support/jvm/lock-user.js";
import { type Redisson, startRedisson } from "../support/jvm/redisson.js";
import { readScripts, releasesOfScripts, writeScripts } from "../support/jvm/script-files.js";
import { ScriptRecorder } from "../support/jvm/script-records.js";
import { type RedisServer, startRedis } from "../support/servers/redis-server.js";
import { type SeenCommand, ServerMonitor } from "../support/servers/server-monitor.js";
import { NAME, NUMBERS, type ScriptOrder, scriptOrders, WATCHDOG_MS } from "./script-orders.js";

const WRITES = process.env["HOLDFAST_WRITE_RECORDS"] === "1";
const offered: readonly ScriptOrder[] = scriptOrders.filter((order) => since(order.since ?? "0"));

let server: RedisServer;
let monitor: ServerMonitor;
let redisson: Redisson;
beforeAll(async () => {
  server = await startRedis();
  monitor = await ServerMonitor.open(server);
  redisson = await startRedisson(release);
}, 60_000);
afterAll(async () => {
  await redisson?.stop();
  monitor?.close();
  await server?.stop();
});

test.runIf(releasesOfScripts.includes(release))(
  `the scripts of Redisson ${release}`,
  async () => {
    const recorder = new ScriptRecorder();
    const patient = await redisson.connect(server.url);
    const brief = await redisson.connect(server.url, { watchdogMs: WATCHDOG_MS });
    const users = {
      a: await JvmUser.of(patient),
      b: await JvmUser.of(await redisson.connect(server.url)),
      watched: await JvmUser.of(brief),
      colleague: await JvmUser.of(brief),
    };
    const holders = Object.values(users).map(({ holder }) => holder);
    const plain = server.client();
    for (const { play, records, numbers = {}, clears = false } of offered) {
      if (clears) await plain.flushall();
      await monitor.read();
      await play(users);
      const seen: SeenCommand[] = [];
      const meanings = [...Object.entries(numbers), ...Object.entries(NUMBERS)];
      const wording = { name: NAME, holders, numbers: meanings, nowMs: Date.now() };
      // Some is sent after the answer: what takes away the latch of an unlock, and renewals.
      do seen.push(...(await monitor.read()));
      while (recorder.fresh(seen, wording).length < records.length);
      recorder.name(recorder.fresh(seen, wording), records);
    }
    if (WRITES) writeScripts(release, recorder.calls);
    else expect(recorder.calls).toEqual(await readScripts(release));
  },
  60_000,
);
