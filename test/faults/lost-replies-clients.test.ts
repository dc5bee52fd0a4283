import { describe, test } from "vitest";
import type { Holdfast } from "../../src/holdfast.js";
import { LossyWay, losses } from "../support/faults/lossy-way.js";
import { until } from "../support/run/until.js";
import type { ClientOptions } from "../support/servers/server-clients.js";

const way = new LossyWay();

/** What users of ioredis choose. Some clients resend by themselves, some tell of each broken connection at once. */
const clients: readonly (readonly [client: string, connection: ClientOptions])[] = [
  ["maxRetriesPerRequest 0", { maxRetriesPerRequest: 0 }],
  ["maxRetriesPerRequest 1", { maxRetriesPerRequest: 1 }],
  ["maxRetriesPerRequest null", { maxRetriesPerRequest: null }],
  ["no resending", { autoResendUnfulfilledCommands: false }],
  ["no offline queue", { enableOfflineQueue: false }],
  ["no queue, no retries, no resending", failFast()],
  ["a command timeout of its own", { commandTimeout: 400 }],
  ["automatic pipelines", { enableAutoPipelining: true }],
  ["RESP2", { protocol: 2 }],
];

function failFast(): ClientOptions {
  return { enableOfflineQueue: false, maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false };
}

describe("whatever the options of the Redis client", () => {
  test.each(clients)(
    "a lost reply or request has its effect once and nobody notices: %s",
    async (_, connection) => {
      const holdfast = way.behindProxy(connection);
      await connected(holdfast);
      for (const [i, loss] of losses.entries()) {
        await way.acquisitionCountsOnce(holdfast, `acquisition:${i}`, loss);
        await connected(holdfast);
        await way.entryCountsOnce(holdfast, `entry:${i}`, loss);
        await connected(holdfast);
        await way.releaseIsDoneOnce(holdfast, `release:${i}`, loss);
        await connected(holdfast);
        await way.partialReleaseIsDoneOnce(holdfast, `partial:${i}`, loss);
        await connected(holdfast);
        await way.renewalIsMadeUpFor(holdfast, `renewal:${i}`, loss);
        await connected(holdfast);
      }
    },
  );

  /** A client without a queue refuses commands while it has no connection. */
  async function connected(holdfast: Holdfast): Promise<void> {
    const isThere = () => holdfast.getLock("acquaintance").isLocked();
    await until(() =>
      isThere().then(
        () => true,
        () => false,
      ),
    );
  }
});
