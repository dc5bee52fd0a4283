import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { failureText, keptHistories } from "../../campaign/failure.js";
import type { PlayOrder, PlayReport } from "./finding.js";
import { play } from "./play.js";

const order: PlayOrder = {
  firstSeed: 3,
  stride: 2,
  schedules: 0,
  histories: [],
  scenes: "none",
  seconds: 60,
  kinds: undefined,
};

describe("playing for a hunt", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "holdfast-hunt-"));
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  async function told(orders: Partial<PlayOrder>): Promise<readonly PlayReport[]> {
    const reports: PlayReport[] = [];
    const last = await play({ ...order, ...orders }, async (report) => {
      reports.push(report);
    });
    return [...reports, last];
  }

  it("plays kept schedules after the first ones by seed", async () => {
    const [history = ""] = keptHistories();
    const reports = await told({ schedules: 2, histories: [history], kinds: ["latch"] });
    const places = reports.map((report) => (report.what === "playing" ? report.where : report.what));
    expect(places).toEqual([{ seed: 3 }, { seed: 5 }, { history }, "clean"]);
  });

  it("tells which kept schedule breaks a promise, and plays on when that does not count", async () => {
    const history = join(folder, "broken.json");
    // No schedule can be made of a kind that there is not.
    writeFileSync(
      history,
      failureText({ rule: "truth", text: "", seed: 0, release: "", only: ["no kind"], choices: {} }),
    );
    const [kept = ""] = keptHistories();
    const [, found, next] = await told({ histories: [history, kept] });
    expect(found).toMatchObject({ what: "found", where: { history }, rule: "world" });
    expect(next).toMatchObject({ what: "playing", where: { history: kept } });
  });
});
