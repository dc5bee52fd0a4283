import "./world/trap.js";

import { describe, expect, it } from "vitest";
import { explore, replay } from "./scenes/explore.js";
import { told } from "./scenes/main.js";
import { SCENES, scenesOf } from "./scenes/run.js";
import { KINDS } from "./workload/families.js";

describe("small scenes, in all orders", () => {
  it.each(scenesOf({ small: true }).map((scene) => [scene.name, scene] as const))("%s", async (_, scene) => {
    const result = await explore(scene);
    expect(result.failure === undefined ? "" : told(result)).toBe("");
    expect(result.isExhausted).toBe(true);
  });

  it("are there for each kind", () => {
    const kinds = new Set(SCENES.map(({ kind }) => kind));
    expect(KINDS.filter((kind) => !kinds.has(kind))).toEqual([]);
  });

  it("have the same ends when equivalent orders are not merged", async () => {
    const [scene] = scenesOf({ named: "spin: one locks, one tries" });
    if (scene === undefined) throw new Error("there is no such scene");
    const merged = await explore(scene);
    const all = await explore(scene, { merges: false });
    expect(all.isExhausted).toBe(true);
    expect(merged.endStates).toEqual(all.endStates);
    expect(merged.lists).toBeLessThan(all.lists / 4);
  });

  it("says so when a scene is not exhausted", async () => {
    const [scene] = SCENES;
    if (scene === undefined) throw new Error("there is no scene");
    expect(await explore(scene, { mostLists: 3 })).toMatchObject({ isExhausted: false, lists: 3 });
  });

  it("plays a list of choices again, to the same history", async () => {
    const [scene] = SCENES;
    if (scene === undefined) throw new Error("there is no scene");
    const choices = { order: [1, 0, 1, 1, 0, 1] };
    const [one, other] = [await replay(scene, choices), await replay(scene, choices)];
    expect(one.history).toEqual(other.history);
    expect(one.history).not.toEqual((await replay(scene, {})).history);
  });
});
