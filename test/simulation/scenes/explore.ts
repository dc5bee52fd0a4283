import type { Choices } from "../chooser/chooser.js";
import type { HistoryLine, Violation } from "../outcome.js";
import { real } from "../world/trap.js";
import { type Played, playOnce } from "./play.js";
import type { SceneDefinition } from "./scene.js";
import { type Order, Search } from "./search.js";

/** What the exploration of a scene came to. */
export interface SceneResult {
  readonly scene: SceneDefinition;
  /** Whether all orders up to the bound were played. */
  readonly isExhausted: boolean;
  /** Runs that were begun, and how many of them were broken off as what would have followed was played in another order. */
  readonly lists: number;
  readonly brokenOff: number;
  readonly endStates: ReadonlySet<string>;
  /** The most events of one run in an order of choice. */
  readonly longest: number;
  readonly seconds: number;
  readonly failure: SceneFailure | undefined;
}

/** A run in which a promise was not kept. */
export interface SceneFailure {
  readonly choices: Choices;
  readonly violations: readonly Violation[];
  readonly history: readonly HistoryLine[];
}

export interface ExploreOptions {
  /** Whether of orders that differ in the places of events which commute only one is played. Default: true. */
  readonly merges?: boolean;
  /** After so many lists it ends, and says that the scene is not exhausted. Default: never. */
  readonly mostLists?: number;
  /** Called when a list has been played, with how many there are. */
  readonly whenPlayed?: (lists: number) => void;
}

/** Plays all orders of a scene, or those up to the first in which a promise is not kept. */
export async function explore(scene: SceneDefinition, options: ExploreOptions = {}): Promise<SceneResult> {
  const { merges = true, mostLists = Number.POSITIVE_INFINITY, whenPlayed } = options;
  const startMs = real.now();
  const search = new Search(merges);
  const endStates = new Set<string>();
  let lists = 0;
  let brokenOff = 0;
  let longest = 0;
  let failure: SceneFailure | undefined;
  let isOver = false;
  while (!isOver && failure === undefined && lists < mostLists) {
    search.begin();
    const order = new Recorder(search);
    const played = await playOnce(scene, order);
    lists += 1;
    whenPlayed?.(lists);
    longest = Math.max(longest, order.length);
    if (played.endState === undefined) brokenOff += 1;
    else endStates.add(played.endState);
    failure = failureOf(played, order);
    isOver = !search.next();
  }
  return {
    scene,
    isExhausted: isOver,
    lists,
    brokenOff,
    endStates,
    longest,
    seconds: (real.now() - startMs) / 1_000,
    failure,
  };
}

function failureOf({ violations, history }: Played, order: Recorder): SceneFailure | undefined {
  if (violations.length === 0) return undefined;
  return { choices: { [ORDER]: order.choices }, violations, history };
}

/** The stream that a list of choices of a scene is in. */
export const ORDER = "order";

/** Writes down what is chosen where there is a choice. */
class Recorder implements Order {
  readonly choices: number[] = [];
  length = 0;
  readonly #order: Order;

  constructor(order: Order) {
    this.#order = order;
  }

  choose(ids: readonly string[]): number | undefined {
    const chosen = this.#order.choose(ids);
    if (chosen !== undefined && ids.length > 1) this.choices.push(chosen);
    if (chosen !== undefined) this.length += 1;
    return chosen;
  }

  happened(...[footprint]: Parameters<Order["happened"]>): void {
    this.#order.happened(footprint);
  }
}

/** Plays one list of choices: what is missing is 0. */
export function replay(scene: SceneDefinition, choices: Choices): Promise<Played> {
  const list = choices[ORDER] ?? [];
  let at = 0;
  return playOnce(scene, {
    choose(ids) {
      if (ids.length === 1) return 0;
      const choice = (list[at] ?? 0) % ids.length;
      at += 1;
      return choice;
    },
    happened: () => undefined,
  });
}
