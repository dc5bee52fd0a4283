import { describe, expect, it } from "vitest";
import { type CampaignOptions, parseWish, UsageError } from "./options.js";

const kinds = ["lock", "fair", "fair read-write"];
const today = new Date(Date.UTC(2031, 1, 3, 23, 59));

function campaign(...args: string[]): CampaignOptions {
  const wish = parseWish(args, kinds, today);
  if (wish.do !== "play") throw new Error(`asked to ${wish.do}`);
  return wish.options;
}

describe("the command line", () => {
  it("plays ten thousand schedules from a seed of the day", () => {
    const options = campaign();
    expect(options).toMatchObject({ firstSeed: 20_310_203_000_000, schedules: 10_000, shrinkSeconds: 30 });
    expect(options.minutes).toBe(Number.POSITIVE_INFINITY);
    expect(options.workers).toBeGreaterThan(0);
    expect(campaign("--seed", "day").firstSeed).toBe(options.firstSeed);
  });

  it("plays for as long as it is asked to, when it is told no number", () => {
    expect(campaign("--minutes", "1.5")).toMatchObject({ minutes: 1.5, schedules: Number.POSITIVE_INFINITY });
    expect(campaign("--minutes", "1", "--schedules", "7")).toMatchObject({ minutes: 1, schedules: 7 });
  });

  it("takes what it is told", () => {
    expect(
      campaign(
        "--seed=0",
        "--schedules=1,000,000",
        "--only=fair, fair read-write",
        "--workers=3",
        "--json=a.json",
      ),
    ).toMatchObject({
      firstSeed: 0,
      schedules: 1_000_000,
      only: ["fair", "fair read-write"],
      workers: 3,
      jsonFile: "a.json",
    });
    expect(parseWish(["--replay", "a.json", "--trace"], kinds)).toEqual({
      do: "replay",
      what: "a.json",
      trace: true,
    });
    expect(parseWish(["-h"], kinds)).toEqual({ do: "help" });
  });

  it("hands on what is about defects", () => {
    expect(parseWish(["--defects", "fair", "--seconds", "9"], kinds)).toEqual({
      do: "defects",
      args: ["fair", "--seconds", "9"],
    });
    expect(parseWish(["--mutants", "--help"], kinds)).toEqual({ do: "mutants", args: ["--help"] });
  });

  it.each([
    [["--seed=-1"], '--seed needs "day" or a whole number'],
    [["--seed", "-1"], "argument is ambiguous;"],
    [["--seed", "1e3"], '"1e3"'],
    [["--seed", "9007199254740993"], "2^53"],
    [["--schedules", "0"], "--schedules needs a number above 0"],
    [["--schedules", "2.5"], "--schedules needs a whole number"],
    [["--minutes", "soon"], '--minutes needs a number above 0, got "soon"'],
    [["--workers", ""], "--workers needs a number above 0"],
    [["--only", "fair,fare"], 'no kind "fare"; there are lock, fair, fair read-write'],
    [["--trace"], "--trace shows the keys of one schedule: it needs --replay"],
    [["--schedule", "7"], "Unknown option '--schedule'"],
    [["--seed"], "argument missing"],
    [["7"], "7"],
  ])("refuses %j", (args, message) => {
    expect(() => parseWish(args, kinds)).toThrow(UsageError);
    expect(() => parseWish(args, kinds)).toThrow(message);
  });
});
