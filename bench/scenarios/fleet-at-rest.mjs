import { setTimeout as sleep } from "node:timers/promises";
import { fleetOrders, orderAll, startFleet } from "../support/fleet.mjs";
import { openLedger } from "../support/ledger.mjs";

/** @import { Metrics, Scenario, Size, Stage } from "../support/contracts.js" */

const SIZES = [200, 2_000];
const QUICK_SIZE = 4;
const LOCKS_EACH = 100;
const RENEW_EACH_MS = 5_000;
const QUICK_RENEW_EACH_MS = 200;
/** So many beats of the watchdog are measured. */
const BEATS = 2;
/** The server gives up the buffers of a connection that was busy, and waits have spread over the safety period. */
const SETTLE_MS = 6_000;
const QUICK_SETTLE_MS = 50;
const SPREAD_MS = 4_500;
const QUICK_SPREAD_MS = 50;
/** The locks of clients that have ended have fallen by then, and presence has found its rhythm. */
const PRESENCE_SETTLE_MS = 25_000;
const QUICK_PRESENCE_SETTLE_MS = 800;
const SUBSCRIPTIONS = 10_000;
const TTL_MS = 600_000;

/** @type {readonly Scenario[]} */
export const fleetsAtRest = SIZES.map((clients) => ({
  name: `fleet-${clients}`,
  title: `${clients.toLocaleString("en")} clients that hold ${LOCKS_EACH} locks each and wait for one`,
  about:
    "What a fleet costs its server while nothing changes. The clients are spread over 4 processes. Each takes 100 locks under a watchdog that renews each 5 s, then waits for a lock that is kept, with the default safety period. Memory is `used_memory` of INFO 6 s after a step less that before it, that of connections (`mem_clients_normal`) apart; script time is what INFO commandstats says of the renewals. Presence is measured with as many other clients that do nothing else.",
  columns: [
    { metric: "idleConnectionBytes", heading: "server: bytes per idle connection" },
    { metric: "connectionBytes", heading: "per connection at work" },
    { metric: "connections", heading: "connections" },
    { metric: "lockBytes", heading: "bytes per held lock" },
    { metric: "waiterBytes", heading: "per waiting client" },
    { metric: "subscriptionBytes", heading: "per subscription" },
    { metric: "renewalsPerSecond", heading: "renewing commands/s", digits: 1 },
    { metric: "renewalUs", heading: "script µs of one for 100 locks" },
    { metric: "renewalCpuPercent", heading: "server CPU % of renewing", digits: 2 },
    { metric: "waitingPerSecond", heading: "commands/s of waiting", digits: 1 },
    { metric: "presencePerSecond", heading: "of presence", digits: 1 },
    { metric: "presenceBytes", heading: "bytes of presence per client" },
    { metric: "fleetBytes", heading: "bytes of all, without presence" },
  ],
  tries: "renewing",
  contestants: (libraries) =>
    libraries.filter(({ role, variant }) => role === "ours" && variant === undefined),
  measure: (stage, size) => measureFleet(stage, size, clients),
  orders: fleetOrders,
}));

/**
 * @param {Stage} stage
 * @param {Size} size
 * @param {number} fleetSize
 * @returns {Promise<Metrics>}
 */
async function measureFleet(stage, { quick }, fleetSize) {
  const clients = quick ? QUICK_SIZE : fleetSize;
  const renewEachMs = quick ? QUICK_RENEW_EACH_MS : RENEW_EACH_MS;
  const settleMs = quick ? QUICK_SETTLE_MS : SETTLE_MS;
  const ledger = await openLedger(stage.port);
  try {
    const keeper = await stage.worker();
    // Before there are other connections, whose buffers come and go.
    const subscriptionBytes = await ledger.bytesPerSubscription(SUBSCRIPTIONS);
    const empty = await ledger.read();
    const workers = await startFleet(stage, clients, { renewEachMs });
    await sleep(settleMs);
    const opened = await ledger.read();

    await Promise.all(
      workers.map((worker, process) => worker.order("holdMany", { locks: LOCKS_EACH, process })),
    );
    await sleep(settleMs);
    const holding = await ledger.read();
    const renewing = await stage.measure(() => sleep(BEATS * renewEachMs));
    let renewed = await ledger.read();
    // A busy machine may be late with the first of a short time.
    while (renewed.scripts === holding.scripts) {
      await sleep(renewEachMs);
      renewed = await ledger.read();
    }

    await keeper.order("hold", { ttlMs: TTL_MS });
    await orderAll(workers, "wait", { ttlMs: TTL_MS, spreadMs: quick ? QUICK_SPREAD_MS : SPREAD_MS });
    await sleep((quick ? QUICK_SPREAD_MS : SPREAD_MS) + settleMs);
    const waiting = await ledger.read();
    const resting = await stage.measure(() => sleep(BEATS * renewEachMs));

    await Promise.all(workers.map((worker) => worker.stop()));
    const presence = await measurePresence(stage, clients, quick, () => ledger.read());
    const renewalsPerSecond = perSecond(renewing);
    return {
      idleConnectionBytes: opened.connectionBytes / opened.connections,
      connectionBytes: waiting.connectionBytes / waiting.connections,
      connections: waiting.connections,
      lockBytes: (holding.bytes - opened.bytes) / (clients * LOCKS_EACH),
      waiterBytes: (waiting.bytes - renewed.bytes) / clients,
      subscriptionBytes,
      renewalsPerSecond,
      renewalUs: (renewed.scriptUs - holding.scriptUs) / (renewed.scripts - holding.scripts),
      renewalCpuPercent: (renewing.serverCpuUs ?? Number.NaN) / renewing.tookMs / 10,
      waitingPerSecond: perSecond(resting) - renewalsPerSecond,
      fleetBytes: waiting.bytes + waiting.connectionBytes - empty.bytes - empty.connectionBytes,
      ...presence,
    };
  } finally {
    ledger.close();
  }
}

/**
 * As many clients that do nothing but tell of themselves.
 *
 * @param {Stage} stage
 * @param {number} clients
 * @param {boolean} quick
 * @param {() => Promise<{ bytes: number }>} read
 */
async function measurePresence(stage, clients, quick, read) {
  const settleMs = quick ? QUICK_PRESENCE_SETTLE_MS : PRESENCE_SETTLE_MS;
  await sleep(settleMs);
  const before = await read();
  await startFleet(stage, clients, { holdfastOptions: { presence: quick ? { everyMs: 1_000 } : true } });
  await sleep(settleMs);
  const measured = await stage.measure(() => sleep(quick ? QUICK_PRESENCE_SETTLE_MS : BEATS * RENEW_EACH_MS));
  const after = await read();
  return { presencePerSecond: perSecond(measured), presenceBytes: (after.bytes - before.bytes) / clients };
}

/** @param {{ commands?: number, tookMs: number }} measured */
function perSecond({ commands = Number.NaN, tookMs }) {
  return (commands / tookMs) * 1_000;
}
