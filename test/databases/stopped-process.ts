import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Counter } from "../../examples/fencing/test/counter.js";
import type { Store } from "../../examples/fencing/test/counters.js";
import type { CountingSettings, Outcome, Way } from "../../examples/fencing/test/counting.js";
import { until } from "../support/run/until.js";
import { type RedisServer, startRedis } from "../support/servers/redis-server.js";
import { Child } from "../support/worlds/child.js";

const PROGRAM = fileURLToPath(
  new URL("../../examples/fencing/build/examples/fencing/test/counting.js", import.meta.url),
);
const PROCESSES = 4;
const TURNS = 12;
/** It has counted a few times before it is stopped. */
const STOPPED_IN = 3;
/** Five processes that start, on a machine that may be busy. */
const TIMEOUT_MS = 180_000;

export interface Race {
  readonly store: Store;
  port(): number;
  counter(name: string, port: number): Counter;
  /** Ways in which the guard can stand around the work. */
  readonly guarded: readonly { readonly way: Way; readonly refusals: readonly string[] }[];
  /** Where the service does the check: the port of one that does none. */
  uncheckedPort?(): number;
}

/** Four processes count under one lock, and one of them is stopped (SIGSTOP) between its read and its write, past its lease. */
export function describeStoppedProcess(race: Race): void {
  let redis: RedisServer | undefined;
  const children: Child[] = [];
  beforeAll(async () => {
    redis = await startRedis();
    return () => redis?.stop();
  });
  afterEach(async () => {
    await Promise.all(children.splice(0).map((child) => child.stop()));
  });

  async function start(settings: Omit<CountingSettings, "redisPort" | "store">): Promise<Child> {
    if (!existsSync(PROGRAM)) throw new Error(`${PROGRAM} is missing: run \`npm run test:databases\``);
    const all: CountingSettings = { redisPort: redis?.port ?? 0, store: race.store, ...settings };
    const child = new Child(process.execPath, [PROGRAM, JSON.stringify(all)]);
    children.push(child);
    await child.next("ready");
    return child;
  }

  /** @returns outcomes, those of the process first that was stopped in its turn of number STOPPED_IN */
  async function count(way: Way, name: string, storePort: number, counter: Counter): Promise<Outcome[][]> {
    const started = Array.from({ length: PROCESSES }, () => start({ name, way, storePort }));
    const [stopped, ...others] = await Promise.all(started);
    if (stopped === undefined) throw new Error("no process was started");
    const countHalf = () => others.map((child) => child.ask("count", { times: TURNS / 2 }));
    const counting = [stopped.ask("count", { times: TURNS, pauseIn: STOPPED_IN }), ...countHalf()];
    const { value } = await stopped.next("has-read");
    await stopped.freeze();
    // The lock is not fair: without these the others may be done before the first has come to the turn in which it is stopped.
    counting.push(...countHalf());
    // Others have the lock only after its lease has run out.
    await until(async () => (await counter.value()) >= Number(value) + 2);
    const goingOn = stopped.ask("goOn");
    stopped.thaw();
    await goingOn;
    const answers = await Promise.all(counting);
    return answers.map(({ event, outcomes, error }) => {
      expect({ event, error }).toEqual({ event: "counted", error: undefined });
      return outcomes as Outcome[];
    });
  }

  const acknowledged = (outcomes: Outcome[][]) =>
    outcomes.flat().filter((outcome) => outcome === "acknowledged").length;

  describe("4 processes, one stopped past its lease", () => {
    test.each(race.guarded)(
      "lose nothing with the guard $way",
      { timeout: TIMEOUT_MS },
      async ({ way, refusals }) => {
        const name = `race:${way}`;
        const counter = race.counter(name, race.port());
        const outcomes = await count(way, name, race.port(), counter);
        expect(refusals).toContain(outcomes[0]?.[STOPPED_IN]);
        expect(await counter.value()).toBe(acknowledged(outcomes));
        // A machine that does something else for a second takes a lease away from the others too.
        const possible = new Set(["acknowledged", "not begun", ...refusals]);
        expect(outcomes.flat().filter((outcome) => !possible.has(outcome))).toEqual([]);
      },
    );

    test("lose updates without it", { timeout: TIMEOUT_MS }, async () => {
      const name = "race:unguarded";
      const port = race.uncheckedPort?.() ?? race.port();
      const counter = race.counter(name, port);
      const outcomes = await count("unguarded", name, port, counter);
      expect(outcomes[0]?.[STOPPED_IN]).toBe("acknowledged");
      expect(await counter.value()).toBeLessThan(acknowledged(outcomes));
    });
  });
}
