import { type ChildProcess, fork } from "node:child_process";
import { rmSync } from "node:fs";
import { basename, join } from "node:path";
import { keptHistories } from "../../campaign/failure.js";
import { KINDS } from "../../workload/families.js";
import type { TopologyName } from "../../world/topology.js";
import type { Edit } from "../defect.js";
import { buildVariant, compiledTree, root } from "../variant.js";
import type { Finding, PlayOrder, PlayReport, Where } from "./finding.js";

/** A schedule takes some milliseconds: one that has not ended by then never will. */
const HANGS_AFTER_MS = 10_000;
/** Until the simulator is loaded, on a machine that is busy. */
const STARTS_WITHIN_MS = 30_000;
/** How much of what a player says on its way down is kept. */
const LAST_WORDS = 4_000;

/** Something to hunt for. */
export interface Prey {
  readonly name: string;
  /** What is changed; nothing, to see that nothing is found. */
  readonly edits: readonly Edit[];
  readonly seconds: number;
  /** In so many processes at once. */
  readonly players: number;
  /** The kinds to choose from; undefined: all. */
  readonly kinds: readonly string[] | undefined;
  /** The topologies to play by turns; undefined: as they are drawn. */
  readonly topologies?: readonly TopologyName[] | undefined;
}

/**
 * Builds a variant, and plays schedules of it until it is found or its time is over. A schedule that breaks a promise of the unchanged
 * sources as well does not count.
 */
export async function hunt({ name, edits, seconds, players, kinds, topologies }: Prey): Promise<Finding> {
  const played = kinds?.filter((kind) => KINDS.includes(kind));
  if (played?.length === 0) {
    return {
      how: "not found",
      rule: "",
      text: `no schedule has ${kinds?.join(", ")}`,
      schedules: 0,
      seconds: 0,
    };
  }
  const order: PlayOrder = {
    firstSeed: 1,
    stride: players,
    schedules: Number.MAX_SAFE_INTEGER,
    histories: keptHistories(),
    scenes: "all",
    seconds,
    kinds: played,
    topologies,
  };
  if (edits.length === 0) return playTogether(compiledTree, order, () => Promise.resolve(true));
  const folder = join(root, "build/variants", `${process.pid}-${name.replaceAll(/[^\w.-]+/g, "_")}`);
  try {
    await buildVariant(edits, folder);
    return await playTogether(folder, order, (where) => isSound(alone(order, where)));
  } catch (error) {
    return { how: "not built", rule: "", text: String(error), schedules: 0, seconds: 0 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What plays nothing but this, as the order would have it. */
export function alone(order: PlayOrder, where: Where): PlayOrder {
  const nothing = { ...order, schedules: 0, histories: [], scenes: "none" } as const;
  if ("seed" in where) return { ...nothing, firstSeed: where.seed, schedules: 1 };
  if ("history" in where) return { ...nothing, histories: [where.history] };
  return { ...nothing, scenes: { name: where.scene } };
}

/** As a person looks for it. */
export function nameOf(where: Where): string {
  if ("seed" in where) return `seed ${where.seed}`;
  return "history" in where ? basename(where.history) : where.scene;
}

/** Whether the unchanged sources keep their promises there. */
async function isSound(order: PlayOrder): Promise<boolean> {
  const { how } = await playIn(compiledTree, order, () => Promise.resolve(true));
  return how === "not found";
}

/** Whether what was found there counts. */
type Counts = (where: Where) => Promise<boolean>;

/** As many players as the order leaves seeds for, of which the first plays all the rest; until one has found something. */
async function playTogether(tree: string, order: PlayOrder, counts: Counts): Promise<Finding> {
  const { firstSeed, stride } = order;
  const over = new AbortController();
  const findings = await Promise.all(
    Array.from({ length: stride }, async (_, at) => {
      const rest = at === 0 ? {} : ({ histories: [], scenes: "none" } as const);
      const own = { ...order, ...rest, firstSeed: firstSeed + at };
      const finding = await playIn(tree, own, counts, over.signal);
      if (finding.how !== "not found") over.abort();
      return finding;
    }),
  );
  const told = findings.find(({ how }) => how !== "not found") ?? findings[0];
  if (told === undefined) throw new RangeError("nobody to play");
  return { ...told, schedules: findings.reduce((sum, { schedules }) => sum + schedules, 0) };
}

function playIn(tree: string, order: PlayOrder, counts: Counts, signal?: AbortSignal): Promise<Finding> {
  const player = fork(join(tree, "test/simulation/defects/hunt/player.js"), [], {
    execArgv: ["--unhandled-rejections=strict"],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  return new Promise((resolve) => {
    const watch = new Watch(player, order, { resolve, counts });
    signal?.addEventListener("abort", () => watch.stop());
    watch.begin();
  });
}

interface Ends {
  readonly resolve: (finding: Finding) => void;
  readonly counts: Counts;
}

/** Watches one player. */
class Watch {
  readonly #player: ChildProcess;
  readonly #order: PlayOrder;
  readonly #ends: Ends;
  readonly #startMs = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #schedules = 0;
  /** What it plays; undefined until it is loaded. */
  #playing: Where | undefined;
  #words = "";
  #isOver = false;

  constructor(player: ChildProcess, order: PlayOrder, ends: Ends) {
    this.#player = player;
    this.#order = order;
    this.#ends = ends;
  }

  begin(): void {
    this.#player.stderr?.on("data", (words: Buffer) => {
      this.#words = `${this.#words}${words.toString()}`.slice(-LAST_WORDS);
    });
    this.#player.on("message", (report: PlayReport) => this.#hear(report));
    this.#player.on("close", (code, signal) => {
      const text = lastWords(this.#words, code, signal);
      // What can not even be loaded is no program.
      if (this.#playing !== undefined) this.#end({ how: "crash", rule: "crash", text });
      else this.#end({ how: "not built", rule: "", text });
    });
    this.#waitFor(STARTS_WITHIN_MS);
    this.#player.send(this.#order, () => undefined);
  }

  /** Another one has found something. */
  stop(): void {
    this.#end({ how: "not found", rule: "", text: "" });
  }

  #hear(report: PlayReport): void {
    this.#schedules = report.schedules;
    if (report.what === "playing") {
      this.#playing = report.where;
      this.#waitFor(HANGS_AFTER_MS);
    } else if (report.what === "clean") this.#end({ how: "not found", rule: "", text: "" });
    else void this.#found(report);
  }

  async #found({ where, rule, text }: PlayReport & { readonly what: "found" }): Promise<void> {
    clearTimeout(this.#timer);
    if (await this.#ends.counts(where)) {
      this.#end({ how: "violation", rule, text: `${nameOf(where)}: ${text}` });
    } else {
      this.#waitFor(HANGS_AFTER_MS);
      this.#player.send("go on");
    }
  }

  #waitFor(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#silent(), ms);
  }

  /** It hangs if the unchanged sources have ended what it still plays: a machine may be slow. */
  async #silent(): Promise<void> {
    const playing = this.#playing;
    const hangs = playing === undefined || (await this.#ends.counts(playing));
    if (this.#playing !== playing) return;
    const isOver = performance.now() > this.#startMs + 1_000 * this.#order.seconds + HANGS_AFTER_MS;
    const what = playing === undefined ? "what is to be loaded" : nameOf(playing);
    if (hangs) this.#end({ how: "hang", rule: "hang", text: `${what} does not end` });
    else if (isOver) this.#end({ how: "not found", rule: "", text: "" });
    else this.#waitFor(HANGS_AFTER_MS);
  }

  #end(end: Pick<Finding, "how" | "rule" | "text">): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#player.kill("SIGKILL");
    const seconds = (performance.now() - this.#startMs) / 1_000;
    this.#ends.resolve({ ...end, schedules: this.#schedules, seconds });
  }
}

/** The line of a stack that says what was thrown. */
function lastWords(words: string, code: number | null, signal: string | null): string {
  const said = words.split("\n").find((line) => /^\s*(?:\w*Error|\[?\w+Error)\b/.test(line));
  return said?.trim() ?? `the process has ended with ${signal ?? code}: ${words.trim().slice(-200)}`;
}

/** Works on all items, so many at a time. */
export async function inParallel<T>(
  items: readonly T[],
  workers: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = items.values();
  const worker = async () => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: workers }, worker));
}
