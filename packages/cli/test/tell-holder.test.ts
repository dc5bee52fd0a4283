import { spawnSync } from "node:child_process";
import type { ClientRef } from "holdfast";
import { describe, expect, test } from "vitest";
import { exactName } from "../src/find/exact-name.js";
import { typedName } from "../src/hex-names.js";
import { staleLine, unlockLine } from "../src/show/unlock-line.js";
import { tellKind } from "../src/text/kinds.js";
import { shellWord } from "../src/text/shell-word.js";
import { type Detail, originOf, tellHolder } from "../src/text/tell-holder.js";

const JVM = "4e7e0b1c-0000-4000-8000-000000000000";
const HOLDER = `${JVM}:57`;
const OURS = "319b0b1c-0000-8001-8000-000000000000";
const there: ClientRef = {
  id: OURS,
  app: "api",
  host: "web-7",
  pid: 3121,
  state: "there",
  lastSeenMs: 10,
  labels: {},
};
const gone: ClientRef = { ...there, app: "jobs", host: "pod-9", pid: 1, state: "gone", lastSeenMs: 40_000 };

describe("a holder for people", () => {
  test.each<[string, Parameters<typeof tellHolder>[0], Detail | undefined]>([
    ["api@web-7 pid 3121", { holder: `${OURS}:1`, client: there }, undefined],
    ["jobs@pod-9 pid 1 (gone 40 s)", { holder: `${OURS}:1`, client: gone }, "whole"],
    ["jobs@pod-9 1 (gone)", { holder: `${OURS}:1`, client: gone }, "short"],
    ["jobs@pod-9 (gone)", { holder: `${OURS}:1`, client: gone }, "least"],
    ["api", { holder: `${OURS}:1`, client: { ...there, host: null, pid: null } }, undefined],
    ["JVM 4e7e…:57", { holder: `${JVM}:57`, client: null }, undefined],
    ["JVM 4e7e…:57", { holder: `${JVM}:57:write`, client: null }, undefined],
    ["unknown 319b…:4294967297", { holder: `${OURS}:4294967297`, client: null }, undefined],
    ["unknown somebody:7", { holder: "somebody:7", client: null }, undefined],
    ["kept for api@web-7 pid 3121", { holder: `${OURS}:0`, client: there }, undefined],
    ["api@web-7 pid 3121", { holder: null, client: there }, undefined],
  ])("%s", (text, holder, detail) => {
    expect(tellHolder(holder, detail)).toBe(text);
  });

  test("is of a JVM or of holdfast by the version of its UUID", () => {
    expect([`${JVM}:1`, OURS, `${OURS.replace("-8001", "-1001")}:1`, "x:1"].map(originOf)).toEqual([
      "jvm",
      "holdfast",
      "other",
      "other",
    ]);
  });

  test("holds a read-write lock in the way that its id says", () => {
    expect([
      tellKind("read-write-lock", [`${JVM}:1`]),
      tellKind("read-write-lock", [`${JVM}:1:write`]),
    ]).toEqual(["read", "write"]);
  });
});

describe("the line that frees a lock", () => {
  const holder = { holder: `${JVM}:57`, client: null };
  test.each([
    ["nothing to free", "a", [], undefined],
    ["one holder", "order:42", [holder], `holdfast unlock order:42 --holder ${JVM}:57`],
    [
      "several",
      "a",
      [holder, { holder: `${OURS}:8`, client: gone }],
      `holdfast unlock a --holder ${JVM}:57 --holder ${OURS}:8`,
    ],
    ["very many", "a", Array.from({ length: 9 }, () => holder), "holdfast unlock a --force"],
    [
      "very many, all gone",
      "a",
      Array.from({ length: 9 }, (_, thread) => ({ holder: `${OURS}:${thread}`, client: gone })),
      "holdfast unlock a --stale",
    ],
    ["a name with a space", "a b", [holder], `holdfast unlock 'a b' --holder ${JVM}:57`],
    ["a name like an option", "-f", [holder], `holdfast unlock --holder ${JVM}:57 -- -f`],
  ])("%s", (_, name, holders, line) => {
    expect(unlockLine(name, holders, [])).toBe(line);
  });

  test.each([
    ["order:42", "holdfast ls order:42 --stale"],
    ["$(reboot)", "holdfast ls '$(reboot)' --stale"],
    ["a*[b]", "holdfast ls 'a\\*\\[b]' --stale"],
    ["-f", "holdfast ls --stale -- -f"],
  ])("that tells whether %j is renewed is for a shell, and about that name alone", (name, line) => {
    expect(staleLine(name, [])).toBe(line);
  });

  test.each([
    ["it's", "'it'\\''s'"],
    ["$(rm -rf x)", "'$(rm -rf x)'"],
    ["東京", "'東京'"],
    ["a\nb'c\\", "'a\nb'\\''c\\'"],
    ["=ls", "'=ls'"],
    ["", "''"],
  ])("quotes %j for a shell", (text, word) => {
    expect(shellWord(text)).toBe(word);
  });

  test.each(["a\u0000b", "a\u202eb", "a\n", "\u001b[2J", "\u00ad", "-\u200b"])(
    "gives the name %j by its bytes, which no shell and no locale reads otherwise [U6]",
    (name) => {
      const [, , hex = "", ...options] = staleLine(name, []).split(" ");
      expect(options).toEqual(["--hex", "--stale"]);
      expect(exactName(typedName(hex, { hex: true }))).toBe(name);
    },
  );

  test.each(["bash", "dash"])("is read by %s in the locale C as the words that are meant [U6]", (shell) => {
    for (const name of [
      "a\u202eb",
      "a\u0000b",
      "a\n",
      "it's",
      "$(exit)",
      "東京",
      "é\u00ad",
      "-f",
      "=ls",
      "a*",
    ]) {
      const line = unlockLine(name, [{ holder: HOLDER, client: null }], []) ?? "";
      const script = line.replace(/^holdfast unlock/, "printf '%s\\n'");
      const { stdout } = spawnSync(shell, ["-c", script], {
        env: { LC_ALL: "C", PATH: process.env["PATH"] },
      });
      const words = stdout.toString().split("\n");
      const typed = words.find((word) => !word.startsWith("--") && word !== HOLDER) ?? "";
      expect(typedName(typed, { hex: words.includes("--hex") })).toBe(name);
      expect(words).toContain(HOLDER);
    }
  });

  test.each(["a", "zz", "6", "ff", "c3"])("refuses %j as the bytes of a name", (typed) => {
    expect(() => typedName(typed, { hex: true })).toThrow("--hex takes");
  });
});
