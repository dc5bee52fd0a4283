import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inPart } from "../support/refusals/in-part.js";
import { pageOf } from "../support/refusals/page.js";
import { type ServerState, scenarios } from "../support/refusals/refusals.js";
import { type Cell, problemsOf, RefusalWorld, scriptNames } from "../support/refusals/world.js";
import { until } from "../support/run/until.js";
import { isBefore7, isReference } from "../support/servers/redis-program.js";

/** Where the rights are taken from that take a lock back, a server that was not asked before leaves it. */
const NOT_BEFORE_7 = ["lock-acquire", "fair-acquire", "read-acquire", "write-acquire", "presence-tell"];

const PAGE = "docs/reference/refused-commands.md";

let world: RefusalWorld;
const cells = new Map<string, readonly Cell[]>();

beforeAll(async () => {
  world = await RefusalWorld.start();
});
afterAll(() => world?.server.stop());

/** A folder stands where the server wants to write: `MISCONF`, once it is set to save. */
async function failToSave(admin: Redis): Promise<void> {
  const [, folder = ""] = (await admin.config("GET", "dir")) as string[];
  mkdirSync(join(folder, "dump.rdb", "in-the-way"), { recursive: true });
  await admin.bgsave();
  await until(async () => /rdb_last_bgsave_status:err/.test(await admin.info("persistence")));
}

/** Plays all scenarios of a script. */
async function eachScenario(
  name: (typeof scriptNames)[number],
  play: (...args: Parameters<RefusalWorld["cells"]>) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const scenario of scenarios[name]) {
    const said = await play(name, scenario, await world.refusals.control(scenario));
    problems.push(...said.map((problem) => `${scenario.what}: ${problem}`));
  }
  return problems;
}

describe("a user who may not run one of the commands of a script", () => {
  test.each(scriptNames)(
    "leaves nothing without an end, and moves no count twice: %s [own-85]",
    async (name) => {
      const problems = await eachScenario(name, async (...call) => {
        const played = await world.cells(...call);
        cells.set(name, [...(cells.get(name) ?? []), ...played]);
        return played.flatMap(problemsOf);
      });
      expect(problems).toEqual([]);
    },
  );

  test.for(scriptNames)(
    "who is given the rights one by one does neither: %s [own-85]",
    async (name, { skip }) => {
      skip(
        isBefore7() && NOT_BEFORE_7.includes(name),
        "Redis 6.2 can not tell a script what its user may run",
      );
      const problems = await eachScenario(name, (_, scenario, control) =>
        world.refusals.trial(scenario, world.commands(name), control),
      );
      expect(problems).toEqual([]);
    },
  );

  test("leaves what the page says; npm run table writes it anew", ({ skip }) => {
    skip(!isReference(), "the page tells of the reference server");
    const page = pageOf(cells);
    if (process.env["HOLDFAST_WRITE_TABLE"] === "1") writeFileSync(PAGE, page);
    expect(readFileSync(PAGE, "utf8")).toBe(page);
    const half = scriptNames.filter((name) => cells.get(name)?.some(({ outcome }) => outcome.isInPart));
    expect(Object.keys(inPart).sort()).toEqual([...half].sort());
  });
});

describe("a server that refuses writes for a while", () => {
  const set = (setting: string, begin: string, end: string) => () => ({
    begin: () => world.admin.config("SET", setting, begin),
    end: () => world.admin.config("SET", setting, end),
  });
  const states: Readonly<Record<string, () => ServerState>> = {
    "as its memory is full": set("maxmemory", "1", "0"),
    "as it has too few replicas": set("min-replicas-to-write", "1", "0"),
    "as it is a replica": () => ({
      begin: () => world.admin.replicaof("127.0.0.1", 1),
      end: () => world.admin.replicaof("NO", "ONE"),
    }),
    "as it can not save": () => ({
      begin: () => world.admin.config("SET", "save", "3600 1000000"),
      end: () => world.admin.config("SET", "save", ""),
    }),
  };

  beforeAll(() => failToSave(world.admin));

  test.each(Object.entries(states))(
    "%s: a call that it refuses has changed nothing [own-85]",
    async (_, made) => {
      const state = made();
      await state.begin();
      await expect(world.admin.set("any", "1")).rejects.toThrow(/^(?:OOM|NOREPLICAS|READONLY|MISCONF) /);
      await state.end();
      const problems: string[] = [];
      for (const name of scriptNames) {
        const said = await eachScenario(name, (_name, scenario, control) =>
          world.refusals.whileRefusing(scenario, control, state),
        );
        problems.push(...said.map((problem) => `${name}, ${problem}`));
      }
      expect(problems).toEqual([]);
    },
  );
});

/** Those that write, or are called between writes, and that the tests need for nothing else. */
const RENAMED = [
  ..."DECRBY DEL HDEL HSET INCR INCRBY LREM LTRIM PERSIST PEXPIRE RPUSH SET ZADD ZREM ZREMRANGEBYRANK".split(
    " ",
  ),
  ..."EXISTS HEXISTS HGET LINDEX LLEN LPOS ZCARD ZCOUNT ZMSCORE ZSCORE".split(" "),
];

describe("a server that has renamed a command", () => {
  test.each(RENAMED)(
    "leaves nothing without an end, and moves no count twice: %s [own-85]",
    async (command) => {
      const without = await RefusalWorld.start(command);
      const problems: string[] = [];
      for (const name of scriptNames) {
        if (!world.commands(name).includes(command)) continue;
        const said = await eachScenario(name, async (_, scenario, control) =>
          control.commands.includes(command) ? without.refusals.without(scenario, control) : [],
        );
        problems.push(...said.map((problem) => `${name}, ${problem}`));
      }
      await without.server.stop();
      expect(problems).toEqual([]);
    },
  );
});
