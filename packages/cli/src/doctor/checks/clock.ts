import { type Check, type Finding, fail, ok, warn } from "../check.js";
import { ask, type WritableServer } from "../scene.js";

const doc = "docs/guide/servers.md#settings-of-the-server";
const SAMPLES = 5;
const PAUSE_MS = 400;
/** The most that a clock may run fast or slow, as a share of the time that has passed. */
const MOST_DRIFT = 0.001;
/** If the server's clock jumps by more than this, it was set. NTP's slewing and a busy scheduler cause only smaller jumps. */
const STEP_MS = 100;
const MOST_APART_MS = 500;

/** A reading of the clock of a server. */
export interface ClockSample {
  /** When the question was sent, on a local clock that never jumps. */
  readonly sentMs: number;
  readonly answeredMs: number;
  /** Epoch milliseconds, with fractions. */
  readonly serverMs: number;
  /** The local wall clock, halfway between the question and the answer. */
  readonly wallMs: number;
}

/** Whether the clocks of the servers run evenly: Redis ends leases by them. */
export const clock: Check = {
  id: "clock",
  async look({ servers }) {
    const all = await Promise.all(servers.map(sample));
    const faults = [
      ...servers.flatMap(({ address }, at) =>
        faultsOf(all[at] ?? [], servers.length === 1 ? "" : `${address}: `),
      ),
      ...apart(all),
    ];
    return faults.length > 0 ? faults : [ok(offsetText(all))];
  },
};

async function sample(server: WritableServer): Promise<readonly ClockSample[]> {
  const samples: ClockSample[] = [];
  for (let at = 0; at < SAMPLES; at += 1) {
    if (at > 0) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    const sentMs = performance.now();
    const [seconds, micros] = (await ask(server, "TIME")) as readonly unknown[];
    const answeredMs = performance.now();
    const wallMs = Date.now() - (answeredMs - sentMs) / 2;
    samples.push({ sentMs, answeredMs, serverMs: Number(seconds) * 1_000 + Number(micros) / 1_000, wallMs });
  }
  return samples;
}

/** @param where a text to print before each finding */
export function faultsOf(samples: readonly ClockSample[], where = ""): readonly Finding[] {
  const [first] = samples;
  const last = samples.at(-1);
  if (first === undefined || last === undefined || first === last) return [];
  const step = samples
    .slice(1)
    .map((after, at) => advance(samples[at] ?? first, after))
    .find(({ surplusMs }) => surplusMs > STEP_MS);
  if (step !== undefined)
    return [
      fail(
        `${where}the clock was set ${step.isAhead ? "forward" : "back"} by ${Math.round(step.surplusMs)} ms within ${Math.round(step.tookMs)} ms`,
        {
          why: "A step forward ends leases early. After a step back, a command may still run although its caller gave it up, and may let a second holder in.",
          wanted: "Let NTP slew the clock (chrony, ntpd without steps), and do not set it by hand.",
          doc,
        },
      ),
    ];
  const drift = advance(first, last);
  if (drift.surplusMs > MOST_DRIFT * drift.tookMs)
    return [
      fail(
        `${where}the clock runs ${((100 * drift.surplusMs) / drift.tookMs).toFixed(1)} % too ${drift.isAhead ? "fast" : "slow"}`,
        {
          why: "Leases end by this clock: if it runs fast, they end before their holders stop relying on them.",
          wanted: "Check the time-keeping of the server's machine, above all if it is a virtual machine.",
          doc,
        },
      ),
    ];
  return [];
}

interface Advance {
  readonly tookMs: number;
  readonly isAhead: boolean;
  /**
   * The least number of milliseconds that the server's clock gained or lost against the local clock. It can not be exact, because the
   * server may have read its clock at any moment of the round trip.
   */
  readonly surplusMs: number;
}

function advance(from: ClockSample, to: ClockSample): Advance {
  const least = to.sentMs - from.answeredMs;
  const most = to.answeredMs - from.sentMs;
  const moved = to.serverMs - from.serverMs;
  return {
    tookMs: (least + most) / 2,
    isAhead: moved > most,
    surplusMs: Math.max(moved - most, least - moved, 0),
  };
}

export function apart(all: readonly (readonly ClockSample[])[]): readonly Finding[] {
  const offsets = all.flatMap((samples) => offsetOf(samples) ?? []);
  const spreadMs = Math.max(...offsets) - Math.min(...offsets);
  if (offsets.length < 2 || spreadMs <= MOST_APART_MS) return [];
  return [
    warn(`the clocks of the masters are ${Math.round(spreadMs)} ms apart`, {
      why: "After a failover, leases end by the clock of another machine.",
      wanted: "Synchronise all clocks by NTP, or set the option clockSkewMs to this difference.",
      doc,
    }),
  ];
}

/** How many milliseconds the server's clock is ahead of the local clock, according to the sample with the shortest round trip. */
function offsetOf(samples: readonly ClockSample[]): number | undefined {
  const [best] = [...samples].sort((a, b) => a.answeredMs - a.sentMs - (b.answeredMs - b.sentMs));
  return best && best.serverMs - best.wallMs;
}

function offsetText(all: readonly (readonly ClockSample[])[]): string {
  const offsets = all.flatMap((samples) => offsetOf(samples) ?? []);
  const furthest = offsets.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a), 0);
  const amount = Math.abs(Math.round(furthest));
  const side = furthest < 0 ? "behind" : "ahead of";
  return `runs evenly, ${amount} ms ${side} the clock of this machine`;
}
