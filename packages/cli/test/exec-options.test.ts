import { describe, expect, it } from "vitest";
import { environmentFor, refuseOwnLock } from "../src/exec/environment.js";
import { type ExecOptions, execSettings } from "../src/exec/exec-options.js";
import { run } from "../src/program.js";

const inPipe = { stdin: false, stderr: false };

function settings(options: ExecOptions = {}, command: readonly string[] = ["/opt/deploy.sh", "--secret"]) {
  return execSettings("deploy", command, options, inPipe);
}

describe("what exec is to do, when little is said", () => {
  it("waits for ever for a plain lock that is renewed, and calls the command by its file name", () => {
    expect(settings()).toEqual({
      name: "deploy",
      kind: "lock",
      waitMs: Number.POSITIVE_INFINITY,
      ttlMs: 30_000,
      leaseMs: undefined,
      maxHoldMs: undefined,
      atLeastMs: 0,
      killAfterMs: 10_000,
      lastMs: 1_500,
      reportEveryMs: 0,
      reportFile: undefined,
      command: { file: "/opt/deploy.sh", args: ["--secret"], called: "deploy.sh" },
      isGroup: true,
      note: "deploy.sh",
      isNested: false,
      scrubsEnv: false,
      conflictExitCode: 75,
      lostExitCode: 76,
      diesWithParent: false,
    });
  });

  it("makes no group where stdin is a terminal, and says every ten seconds for whom it waits where stderr is", () => {
    const { isGroup, reportEveryMs } = execSettings("a", ["x"], {}, { stdin: true, stderr: true });
    expect({ isGroup, reportEveryMs }).toEqual({ isGroup: false, reportEveryMs: 10_000 });
    expect(settings({ noGroup: true }).isGroup).toBe(false);
  });
});

describe("while others have the lock, it", () => {
  it.each<[ExecOptions, number, number]>([
    [{ onBusy: "wait" }, Number.POSITIVE_INFINITY, 75],
    [{ onBusy: "wait", wait: "5s" }, 5_000, 75],
    [{ onBusy: "skip" }, 0, 0],
    [{ onBusy: "skip", n: true }, 0, 0],
    [{ onBusy: "throw" }, 0, 75],
    [{ onBusy: "throw", conflictExitCode: "3" }, 0, 3],
  ])("%j", (options, waitMs, conflictExitCode) => {
    expect(settings(options)).toMatchObject({ waitMs, conflictExitCode });
  });
});

describe("the time between SIGTERM and SIGKILL", () => {
  it.each([
    [{ ttl: "5s" }, 1_666, 250],
    [{ ttl: "30s" }, 10_000, 1_500],
    [{ ttl: "10m" }, 10_000, 30_000],
    [{ ttl: "30s", killAfter: "2s" }, 2_000, 1_500],
    [{ lease: "6s" }, 2_000, 300],
    [{ lease: "12h" }, 10_000, 1_500],
    [{ maxHold: "15s" }, 5_000, 1_500],
    [{ ttl: "5s", killAfter: "0s" }, 0, 250],
  ])("of %j", (options, killAfterMs, lastMs) => {
    expect(settings(options)).toMatchObject({ killAfterMs, lastMs });
  });
});

describe("bad input is told before anything is sent", () => {
  it.each<[string, ExecOptions, readonly string[], string]>([
    [
      "a wait where it does not wait",
      { onBusy: "throw", wait: "5s" },
      ["x"],
      "--wait and --on-busy throw exclude each other: it does not wait",
    ],
    ["-n where it waits", { onBusy: "wait", n: true }, ["x"], "-n and --on-busy wait exclude each other"],
    [
      "an exit code of what is skipped",
      { onBusy: "skip", conflictExitCode: "3" },
      ["x"],
      "--on-busy skip and --conflict-exit-code exclude each other: a skipped command exits with 0",
    ],
    ["", {}, ["x"], "the NAME of the lock is empty"],
    ["a\nb", {}, ["x"], "has a line break in it: a\\u{a}b"],
    ["a", {}, [], "there is no COMMAND after --"],
    ["a", {}, [""], "the COMMAND is empty"],
    ["a", { ttl: "4s" }, ["x"], "--ttl must be at least 5s, got 4s"],
    ["a", { ttl: "25h" }, ["x"], "--ttl must be at most 24h, got 25h"],
    ["a", { ttl: "30" }, ["x"], "--ttl has no unit: write 30s or 30ms"],
    [
      "a",
      { wait: "soon" },
      ["x"],
      '--wait must be a duration such as 500ms, 30s, 5m, 2h or forever, got "soon"',
    ],
    ["a", { wait: "5s", n: true }, ["x"], "-n and --wait exclude each other"],
    ["a", { lease: "9s", maxHold: "9s" }, ["x"], "--lease and --max-hold exclude each other"],
    ["a", { lease: "9s", ttl: "9s" }, ["x"], "--lease and --ttl exclude each other"],
    [
      "a",
      { killAfter: "11s" },
      ["x"],
      "--kill-after must be at most a third of --ttl, which is 10s, got 11s",
    ],
    ["a", { killAfter: "3s", lease: "6s" }, ["x"], "at most a third of --lease, which is 2s"],
    ["a", { kind: "fair", lease: "9s", atLeast: "10s" }, ["x"], "--at-least must not be longer than --lease"],
    ["a", { note: "n".repeat(201) }, ["x"], "--note must have at most 200 characters, got 201"],
    ["a", { shell: true }, ["make", "clean"], "--shell takes one argument, got 2"],
    [
      "a",
      { conflictExitCode: "256" },
      ["x"],
      '--conflict-exit-code must be a number from 0 to 255, got "256"',
    ],
    ["a", { lostExitCode: "x" }, ["x"], "--lost-exit-code must be a number from 0 to 255"],
  ])("%j %j %j", (name, options, command, message) => {
    expect(() => execSettings(name, command, options, inPipe)).toThrow(message);
  });
});

describe("a command line without the form of exec", () => {
  async function complaint(...args: readonly string[]) {
    let text = "";
    const err = { write: (part: string) => (text += part) };
    const out = { write: () => expect.unreachable("nothing was asked for") };
    // Nothing listens there: to connect would be exit code 69.
    const code = await run(["exec", ...args], { env: { HOLDFAST_URL: "redis://127.0.0.1:1" }, out, err });
    return { code, text };
  }
  const form = "holdfast exec NAME [options] -- COMMAND [ARG…]";

  it.each([
    [
      ["deploy", "./run.sh", "--prod"],
      "-- is missing before the command: holdfast exec deploy -- ./run.sh --prod\n",
    ],
    [["deploy"], `-- is missing before the command: ${form}\n`],
    [["deploy", "--wait", "5s", "./run.sh"], `-- is missing before the command: ${form}\n`],
    [["--", "./run.sh"], `missing required argument 'name'\nForm: ${form}\n`],
    [["a", "b", "--", "c"], `too many arguments for 'exec'. Expected 1 argument but got 2.\nForm: ${form}\n`],
    [["a", "--wiat", "5s", "--", "c"], `unknown option '--wiat'\n(Did you mean --wait?)\nForm: ${form}\n`],
    [
      ["a", "--group", "a b", "--", "c"],
      '--group must be 1 to 64 letters, digits, "_", "." or "-", got "a b"\n',
    ],
    [
      ["a", "--report", "/nowhere/x", "--", "c"],
      "--report: ENOENT: no such file or directory, open '/nowhere/x'\n",
    ],
  ])("%j is 64, with the nearest that is right", async (args, text) => {
    expect(await complaint(...args)).toEqual({ code: 64, text: `holdfast: ${text}` });
  });

  it("that names a lock which the command runs under is 64, under the prefix as well", () => {
    expect(() => refuseOwnLock("a", { HOLDFAST_HELD: "b\na" })).toThrow("would wait for itself");
    expect(() => refuseOwnLock("x:a", { HOLDFAST_HELD: "b\na" })).not.toThrow();
  });
});

describe("the environment of the command", () => {
  const here = { key: "x:a", name: "a", holder: "c:1", token: undefined };
  const env = {
    PATH: "/bin",
    REDIS_URL: "redis://:secret@r",
    HOLDFAST_PASSWORD: "secret",
    HOLDFAST_HELD: "b",
    HOLDFAST_LOCK_NAME: "b",
    HOLDFAST_LOCK_TOKEN: "7",
  };

  it("has what is said about the lock, and nothing about one around it but its name", () => {
    expect(environmentFor(here, env, false)).toEqual({
      PATH: "/bin",
      REDIS_URL: "redis://:secret@r",
      HOLDFAST_PASSWORD: "secret",
      HOLDFAST_HELD: "b\nx:a",
      HOLDFAST_LOCK_NAME: "a",
      HOLDFAST_LOCK_HOLDER: "c:1",
    });
    expect(environmentFor({ ...here, token: 12n }, env, false)["HOLDFAST_LOCK_TOKEN"]).toBe("12");
  });

  it("has no way to Redis when it is scrubbed", () => {
    expect(environmentFor(here, env, true)).toEqual({
      PATH: "/bin",
      HOLDFAST_HELD: "b\nx:a",
      HOLDFAST_LOCK_NAME: "a",
      HOLDFAST_LOCK_HOLDER: "c:1",
    });
  });
});
