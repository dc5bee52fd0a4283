import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Holdfast, UnavailableError } from "holdfast";
import { describe, expect, test } from "vitest";
import { fakeTime } from "../../../test/support/worlds/fake-time.js";
import { FOREIGN, heldByJvm, releasedByJvm } from "../../../test/support/worlds/foreign-holder.js";
import { Output } from "../src/output.js";
import { free } from "../src/unlock/free.js";
import { Journal } from "../src/unlock/journal.js";
import { readLine } from "../src/unlock/prompt.js";
import { lookAt } from "../src/unlock/seen.js";
import { tellSeen } from "../src/unlock/tell-seen.js";
import { typing } from "./support/typing.js";

const open = fakeTime();
const LEASE_MS = 30_000;

/** An output that writes down its lines. */
function output(): { readonly output: Output; readonly out: string[]; readonly err: string[] } {
  const [out, err]: [string[], string[]] = [[], []];
  const stream = (lines: string[]) => ({ write: (text: string) => lines.push(text.replace(/\n$/, "")) });
  return { output: new Output({ out: stream(out), err: stream(err), env: {} }), out, err };
}

/** A client whose command to free a lock is not answered. @param freed what becomes of the lock all the same */
function unanswered(holdfast: Holdfast, freed: () => Promise<unknown>): Holdfast {
  return Object.assign(Object.create(holdfast), {
    async forceUnlock() {
      await freed();
      throw new UnavailableError("redis://127.0.0.1", "no answer", true);
    },
    inspect: (name: string) => holdfast.inspect(name),
  });
}

describe("what unlock does", () => {
  test("is to free the lock from what was seen, once: a change in between is left alone", async () => {
    const time = open();
    heldByJvm(time, LEASE_MS);
    const { state } = await lookAt(time.holdfast, "a", "default");
    await releasedByJvm(time);
    const lease = await time.holdfast.getLock("a").lock();
    expect(await free(time.holdfast, state)).toBe("changed");
    lease.assertHeld();
    await lease.unlock();
    expect(await free(time.holdfast, state)).toBe("absent");
  });

  test("is found by looking again when the answer is lost [U3]", async () => {
    const time = open();
    heldByJvm(time, LEASE_MS);
    const { state } = await lookAt(time.holdfast, "a", "default");
    expect(
      await free(
        unanswered(time.holdfast, async () => undefined),
        state,
      ),
    ).toBe("unknown");
    expect(
      await free(
        unanswered(time.holdfast, () => releasedByJvm(time)),
        state,
      ),
    ).toBe("released");
  });

  test("is not known when looking again fails as well", async () => {
    const time = open();
    heldByJvm(time, LEASE_MS);
    const { state } = await lookAt(time.holdfast, "a", "default");
    const away = Object.assign(
      unanswered(time.holdfast, async () => undefined),
      {
        inspect: async () => Promise.reject(new Error("away")),
      },
    );
    expect(await free(away, state)).toBe("unknown");
    await releasedByJvm(time);
  });

  test("fails as it is where the server surely has refused", async () => {
    const time = open();
    const refusing = Object.assign(Object.create(time.holdfast), {
      forceUnlock: async () => Promise.reject(new UnavailableError("redis://127.0.0.1", "READONLY", false)),
    });
    await expect(free(refusing, await time.holdfast.inspect("a"))).rejects.toThrow("READONLY");
  });
});

describe("what unlock tells", () => {
  test("is what happens to a JVM, in lines that fit a page", async () => {
    const time = open();
    heldByJvm(time, LEASE_MS);
    const { output: to, out } = output();
    tellSeen(to, "a", await lookAt(time.holdfast, "a", "default"));
    await releasedByJvm(time);
    expect(out).toEqual([
      "a",
      "  kind      lock",
      "  held by   JVM 3f0c…:57",
      `            ${FOREIGN}`,
      "  lease     30 s left",
      "  waiting   none is known",
      "  if freed  a JVM is not notified: its thread goes on as if it had the lock, beside the next holder",
    ]);
  });

  test("is how long a holder of holdfast believes in its lease", async () => {
    const time = open();
    const lease = await time.holdfast.getLock("a").lock();
    const { output: to, out } = output();
    tellSeen(to, "a", await lookAt(time.holdfast, "a", "default"));
    await lease.unlock();
    expect(out.join("\n")).toContain("its holder relies on its lease until its next renewal, at most 10 s");
  });

  test("shows names and notes of strangers without their control characters", async () => {
    const time = open();
    const name = "a\u001b[2Jb";
    time.server.command("HSET", name, FOREIGN, 1);
    const { output: to, out } = output();
    tellSeen(to, name, await lookAt(time.holdfast, name, "default"));
    time.server.command("DEL", name);
    expect(out[0]).toBe("a\\u{1b}[2Jb");
  });
});

describe("the journal of unlock", () => {
  test("has one line with the user, the deed, the holder and the reason, on stderr and in a file that is appended to", async () => {
    const time = open();
    heldByJvm(time, LEASE_MS);
    const seen = await lookAt(time.holdfast, "a", "default");
    await releasedByJvm(time);
    const file = join(tmpdir(), `holdfast-journal-${process.pid}-${performance.now()}`);
    const { output: to, err } = output();
    for (const reason of ["stuck\nfreed by itself", undefined]) {
      const journal = new Journal(to, file);
      const held = `held by ${seen.state.holders.join(", ")}`;
      journal.write({ name: "a", command: "unlock --force", reason, did: "freed", seen: held });
      journal.close();
    }
    const lines = readFileSync(file, "utf8").split("\n");
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(
      /^\d{4}-\d\d-\d\dT[\d:.]+Z unlock --force: .+@.+ pid \d+ freed "a"; held by 3f0c5f9e-[^;]*; reason "stuck\\nfreed by itself"$/,
    );
    expect(lines[1]).toContain("no reason given");
    expect(err).toEqual(lines.slice(0, 2).map((line) => `holdfast: ${line}`));
  });

  test("is opened before anything is done", () => {
    expect(() => new Journal(output().output, join(tmpdir(), "no-such-folder", "log"))).toThrow(
      "--log: ENOENT",
    );
  });
});

describe("the name that is typed", () => {
  test.each([
    ["order:42\n", "order:42"],
    ["order:42\r\n", "order:42"],
    ["a\nb\n", "a"],
    ["order:42", undefined],
    ["", undefined],
  ])("is the line before Enter: %j", async (keys, line) => {
    expect(await readLine(typing(keys))).toBe(line);
  });
});
