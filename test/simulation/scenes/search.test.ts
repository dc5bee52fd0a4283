import { describe, expect, it } from "vitest";
import { Footprint } from "./footprint.js";
import { Search } from "./search.js";

/** A step of a toy program: what it uses and changes of some variables. */
interface Step {
  readonly uses: readonly string[];
  readonly sets: string;
}

type Program = readonly (readonly Step[])[];
type State = Readonly<Record<string, string>>;

/** Plays a program of several actors, each of which takes its steps in order. */
function runs(program: Program, merges: boolean) {
  const search = new Search(merges);
  const ends = new Set<string>();
  let whole = 0;
  let all = 0;
  do {
    search.begin();
    const end = run(program, search);
    all += 1;
    if (end !== undefined) {
      whole += 1;
      ends.add(JSON.stringify(Object.entries(end).sort()));
    }
  } while (search.next());
  return { ends, whole, all };
}

function run(program: Program, search: Search): State | undefined {
  const state: Record<string, string> = {};
  const at = program.map(() => 0);
  for (;;) {
    const ready = program.flatMap((steps, actor) => ((at[actor] ?? 0) < steps.length ? [actor] : []));
    if (ready.length === 0) return state;
    const chosen = search.choose(ready.map((actor) => `${actor}#${at[actor]}`));
    if (chosen === undefined) return undefined;
    const actor = ready[chosen] ?? 0;
    const step = program[actor]?.[at[actor] ?? 0];
    if (step === undefined) throw new Error("there is no such step");
    const footprint = new Footprint();
    footprint.changes(`actor ${actor}`);
    for (const each of step.uses) footprint.uses(each);
    footprint.changes(step.sets);
    state[step.sets] = `${actor}.${at[actor]}(${step.uses.map((each) => state[each] ?? "-").join()})`;
    at[actor] = (at[actor] ?? 0) + 1;
    search.happened(footprint);
  }
}

const set = (sets: string, ...uses: readonly string[]): Step => ({ sets, uses });

describe("search through all orders", () => {
  it("plays each order once when nothing is merged", () => {
    // 6 steps of which 3 belong to each of two actors: 6! / (3! 3!).
    const steps = [set("x"), set("y"), set("z")];
    expect(runs([steps, steps], false)).toMatchObject({ all: 20, whole: 20 });
  });

  it("plays one order of steps that commute", () => {
    const program = [[set("a"), set("b")], [set("c"), set("d")], [set("e")]];
    expect(runs(program, true).whole).toBe(1);
    expect(runs(program, false).whole).toBe(30);
  });

  it("plays both orders of two that do not commute, whichever of them changes something", () => {
    expect(runs([[set("x")], [set("x")]], true).whole).toBe(2);
    expect(runs([[set("a", "x")], [set("x")]], true).whole).toBe(2);
    expect(runs([[set("x")], [set("a", "x")]], true).whole).toBe(2);
    expect(runs([[set("a", "x")], [set("b", "x")]], true).whole).toBe(1);
  });

  it("misses no end of any small program", () => {
    const names = ["x", "y", "z"];
    let seed = 1;
    const next = (count: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % count;
    };
    const name = () => names[next(3)] ?? "x";
    let merged = 0;
    for (let round = 0; round < 200; round += 1) {
      const program = Array.from({ length: 3 }, () =>
        Array.from({ length: 1 + next(2) }, () => set(name(), ...(next(2) === 0 ? [] : [name()]))),
      );
      const all = runs(program, false);
      const some = runs(program, true);
      expect(some.ends).toEqual(all.ends);
      merged += all.whole - some.whole;
    }
    expect(merged).toBeGreaterThan(1_000);
  });
});
