import { describe, expect, it } from "vitest";
import type { Choices } from "../chooser/chooser.js";
import { seededChooser } from "../chooser/seeded.js";
import { type StillFails, shrink } from "./shrink.js";

const unlimited = { isOver: () => false };

/** A run of four actors that draw thirty numbers each; it fails where `isBad` says so of what they draw. */
function toy(isBad: (actor: (name: string) => readonly number[]) => boolean) {
  const tried: Choices[] = [];
  const stillFails: StillFails = (choices) => {
    tried.push(choices);
    const fails = isBad((name) => Array.from({ length: 30 }, (_, at) => (choices[name]?.[at] ?? 0) % 1000));
    return Promise.resolve(fails);
  };
  return { stillFails, tried };
}

function drawn(seed: number): Choices {
  const chooser = seededChooser(seed);
  for (const name of ["p0", "p1", "s0", "faults"]) {
    for (let nth = 0; nth < 30; nth += 1) chooser.stream(name).choose(1000);
  }
  return chooser.made;
}

function firstFailing(stillFails: StillFails): Promise<Choices> {
  const from = async (seed: number): Promise<Choices> => {
    const choices = drawn(seed);
    return (await stillFails(choices)) ? choices : from(seed + 1);
  };
  return from(1);
}

describe("shrinking", () => {
  it("leaves the one number that matters, as small as it fails", async () => {
    const { stillFails } = toy((actor) => (actor("p1")[3] ?? 0) >= 417);
    const shrunk = await shrink(await firstFailing(stillFails), stillFails, unlimited);
    expect(shrunk).toMatchObject({ choices: { p1: [0, 0, 0, 417] }, isDone: true });
  });

  it("cuts out what comes before, where places do not matter", async () => {
    const { stillFails } = toy((actor) => actor("p0").some((number) => number % 10 === 7 && number > 100));
    const shrunk = await shrink(await firstFailing(stillFails), stillFails, unlimited);
    expect(Object.keys(shrunk?.choices ?? {})).toEqual(["p0"]);
    expect(shrunk?.choices["p0"]).toHaveLength(1);
  });

  it("keeps two actors that are needed together", async () => {
    const { stillFails } = toy((actor) => (actor("p0")[0] ?? 0) > 5 && (actor("faults")[1] ?? 0) > 2);
    const shrunk = await shrink(await firstFailing(stillFails), stillFails, unlimited);
    expect(shrunk?.choices).toEqual({ p0: [6], faults: [0, 3] });
  });

  it("never returns what does not fail, whenever the time is over", async () => {
    // Not monotonic on purpose: smaller numbers fail and do not fail in turns.
    const isBad = (actor: (name: string) => readonly number[]) =>
      [...actor("p0"), ...actor("s0")].reduce((sum, number) => sum * 31 + number, 7) % 3 === 1;
    const { stillFails } = toy(isBad);
    const choices = await firstFailing(stillFails);
    for (let most = 0; most < 200; most += 7) {
      let tries = 0;
      const shrunk = await shrink(choices, stillFails, { isOver: () => tries++ >= most });
      if (shrunk === undefined) throw new Error("it fails unshrunk as well");
      expect(await stillFails(shrunk.choices)).toBe(true);
    }
  });

  it("stops when the time is over, with the best so far", async () => {
    const { stillFails, tried } = toy((actor) => (actor("p1")[3] ?? 0) >= 417);
    const choices = await firstFailing(stillFails);
    tried.length = 0;
    const shrunk = await shrink(choices, stillFails, { isOver: () => tried.length >= 3 });
    expect(shrunk).toMatchObject({ isDone: false, tries: 2 });
    expect(tried).toHaveLength(3);
  });

  it("takes the same steps for the same choices", async () => {
    const [one, other] = [0, 1].map(() =>
      toy((actor) => actor("s0").filter((number) => number > 900).length > 1),
    );
    const choices = await firstFailing(
      toy((actor) => actor("s0").filter((number) => number > 900).length > 1).stillFails,
    );
    if (one === undefined || other === undefined) throw new Error("there are two");
    const first = await shrink(choices, one.stillFails, unlimited);
    expect(await shrink(choices, other.stillFails, unlimited)).toEqual(first);
    expect(other.tried).toEqual(one.tried);
    expect(first?.choices).toEqual({ s0: [901, 901] });
  });

  it("tells of choices that do not fail again", async () => {
    expect(await shrink({ p0: [1] }, () => Promise.resolve(false), unlimited)).toBeUndefined();
  });
});
