import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Holdfast } from "../../src/holdfast.js";
import { allPairs } from "../support/clients/all-pairs.js";
import type { Pair } from "../support/clients/pair.js";
import { pairs } from "../support/clients/pairs.js";
import { watchLeaks } from "../support/run/leaks.js";
import { until } from "../support/run/until.js";
import { ask } from "../support/servers/ask.js";
import { type RedisServer, startRedis } from "../support/servers/redis-server.js";

const KEY = "order:7";
/** The shortest that there is: it is renewed after a third of it. */
const WATCHDOG_MS = 1_000;

type OnePair = Pair<"standalone">;
const claimed = pairs.filter((pair): pair is OnePair => pair.topology === "standalone");
const newest = claimed.filter(({ client }) => / 6$|GLIDE/.test(client));
const clients = (allPairs ? claimed : newest).map((pair) => [pair.client, pair] as const);

const ways = [
  ["rename-command", { args: ["--rename-command", "EVALSHA", ""] }, async () => undefined],
  ["an ACL", {}, (server: RedisServer) => ask(server, "ACL", "SETUSER", "default", "-evalsha")],
] as const;

describe.each(ways)("a server whose EVALSHA is taken away by %s", (_, options, refuse) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis(options);
    await refuse(server);
  });
  afterAll(() => server.stop());
  watchLeaks();

  const ends: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
    await ask(server, "FLUSHALL");
  });

  async function connect({ connect }: OnePair): Promise<Holdfast> {
    const client = await connect({ host: "127.0.0.1", port: server.port });
    ends.push(() => client.end());
    const driver = client.drive();
    // Where it is possible, also on connections of our own.
    const mode = driver.runReplicated === undefined ? "off" : "auto";
    const holdfast = new Holdfast(driver, { watchdogMs: WATCHDOG_MS, replicas: { mode } });
    ends.push(() => holdfast.close({ releaseHeld: true }));
    return holdfast;
  }

  test.each(clients)(
    "renews a lock of %s for as long as it is held, and gives it again and again [own-94]",
    async (_, pair) => {
      const [one, other] = [await connect(pair), await connect(pair)];
      const lease = await one.getLock(KEY).lock();
      const waiting = other.getLock(KEY).lock();
      const untilMs = performance.now() + 2 * WATCHDOG_MS;
      await until(() => performance.now() > untilMs || lease.signal.aborted);
      expect(lease.state).toBe("held");
      await lease.unlock();
      await (await waiting).unlock();
      for (let round = 0; round < 3; round += 1) await (await one.getLock(KEY).lock()).unlock();
      expect(await ask(server, "EXISTS", KEY)).toBe(0);
    },
  );
});
