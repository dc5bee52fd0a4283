import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { servers } from "../../scripts/servers.mjs";
import { page, readRecord, serversPage, suiteRecord, suites } from "../../scripts/servers-page.mjs";
import type { RecordedTest } from "../support/run/run-recorder.js";
import { read } from "../support/tidy/tree.js";

const names = Object.keys(servers);
const pair = { client: "ioredis 6", topology: "cluster" } as const;

function recorded(path: string, given: Partial<RecordedTest> = {}): RecordedTest {
  const [file = "", ...blocks] = path.split(" › ");
  return { file, names: blocks, state: "passed", ...given };
}

function skipped(path: string, reason?: string): RecordedTest {
  return recorded(path, { state: "skipped", ...(reason === undefined ? {} : { reason }) });
}

describe("the page of servers", () => {
  it("is what the last recorded runs gave; npm run test:servers -- --write writes it anew", () => {
    expect(readFileSync(page, "utf8")).toBe(
      serversPage(Object.fromEntries(names.map((name) => [name, readRecord(name)]))),
    );
  });

  it.each(names)("has all suites of %s", (name) => {
    const { server, suites: known } = readRecord(name);
    expect(server.startsWith(servers[name]?.version ?? "?")).toBe(true);
    expect(Object.keys(known).toSorted()).toEqual(Object.keys(suites).toSorted());
  });

  it.each(["README.md", "docs/guide/servers.md"])("has the servers that %s names", (path) => {
    const told = read(path).replace(/\s+/g, " ");
    for (const name of names) expect(told).toContain(readRecord(name).server.replace(/^Redis /, ""));
  });

  it("tells for each server which suites have passed, what was left out of them, and what was played with whom", () => {
    const played = [{ ...pair, what: "conformance" } as const, { ...pair, what: "kinds" } as const];
    const skipped = [{ reason: "it has no such command", tests: ["`a.ts` › block"] }];
    const lines = serversPage({
      "redis-6.2": { server: "Redis 6.2.14", suites: { kinds: { played: played.slice(1), skipped } } },
      "redis-8.2": { server: "Redis 8.2.3", suites: { kinds: { played, skipped: [] } } },
    }).split("\n");
    expect(lines).toContain("| kinds | ✓ except 1 | ✓ |");
    expect(lines).toContain("| faults | – | – |");
    expect(lines).toContain("| ioredis 6 | a cluster | K | C K |");
    expect(lines.slice(-3)).toEqual(["1. It has no such command:", "   - `a.ts` › block", ""]);
  });
});

describe("what is recorded of a suite", () => {
  it("has each client and topology once for what was played with it, and nothing that was skipped", () => {
    const kinds = { ...pair, what: "kinds" } as const;
    const tests = [
      recorded("a.ts › one", { played: kinds }),
      recorded("a.ts › two", { played: kinds }),
      recorded("a.ts › three", { played: { ...pair, what: "conformance" } }),
      recorded("a.ts › four", {
        state: "skipped",
        reason: "none",
        played: { ...pair, what: "sharded conformance" },
      }),
    ];
    expect(suiteRecord(tests).played).toEqual([{ ...pair, what: "conformance" }, kinds]);
  });

  it("names tests that were left out, or the block of which nothing was run, below the reason", () => {
    const tests = [
      skipped("a.ts › block › one", "no such command"),
      skipped("a.ts › block › two", "not applicable: the harness can not"),
      skipped("a.ts › other › one", "no such command"),
      recorded("a.ts › other › two"),
      skipped("b.ts › block › one", "an old one"),
      recorded("c.ts › block › one"),
    ];
    expect(suiteRecord(tests).skipped).toEqual([
      { reason: "an old one", tests: ["`b.ts` › block"] },
      { reason: "no such command", tests: ["`a.ts` › block", "`a.ts` › other › one"] },
    ]);
  });

  it("is refused when a test was skipped without saying why", () => {
    expect(() => suiteRecord([skipped("a.ts › block › one")])).toThrow(
      "a.ts › block › one is skipped without a reason",
    );
  });
});
