import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ServerRecord } from "../../src/threads/server-record.js";
import { LockScriptsBeside } from "../support/models/lock-scripts-beside.js";
import { CHOICES, ServerRecordModel } from "../support/models/server-record-model.js";
import { seededRandom } from "../support/run/seeded-random.js";

const RUNS = Number(process.env["HOLDFAST_RECORD_RUNS"] ?? 20_000);
/** A sequence takes less than a millisecond. */
const timeout = Math.max(60_000, RUNS);
/** One of so many sequences is played on the real scripts as well, which takes most of the time. */
const ON_SCRIPTS = 10;
const { seed } = seededRandom();
const sequences = fc.array(fc.nat(CHOICES - 1), { maxLength: 60, size: "max" });

describe("the record of what Redis has of a stay", () => {
  it("is right whatever is lost, doubled, late, handed over, freed by force or closed, and comes to rest", {
    timeout,
  }, () => {
    const rest = (choices: readonly number[]): void => {
      expect(new ServerRecordModel().play(choices)).toBe("at rest");
    };
    fc.assert(fc.property(sequences, rest), { numRuns: RUNS, seed });
  });

  it("is right about the keys that the real scripts leave", { timeout }, () => {
    const rest = (choices: readonly number[]): void => {
      expect(new ServerRecordModel(new LockScriptsBeside()).play(choices)).toBe("at rest");
    };
    fc.assert(fc.property(sequences, rest), { numRuns: Math.ceil(RUNS / ON_SCRIPTS), seed });
  });

  it("has no place in a queue after a release that only replicas lack, and tells them unless something is asked for again", () => {
    const record = new ServerRecord();
    record.asking(1_000);
    record.queued();
    record.released(0, "absent", true);
    const next = (goesOn: boolean) => record.next({ holds: [], releases: 0, goesOn }).does;
    expect([record.isDoubtful, next(false), next(true)]).toEqual([false, "release", "nothing"]);
  });

  it("is doubtful after a grant of no use, although replicas lack the release before it [own-80]", () => {
    const record = new ServerRecord();
    record.asking(1_000);
    record.released(0, "released", true);
    expect(record.isDoubtful).toBe(false);
    // Its answer, `held`, comes too late to be believed.
    record.asking(1_000);
    const { does } = record.next({ holds: [], releases: 0, goesOn: true });
    expect([record.isDoubtful, does]).toEqual([true, "release"]);
  });
});
