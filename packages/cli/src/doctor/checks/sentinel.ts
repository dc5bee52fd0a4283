import { Redis } from "ioredis";
import { tlsOptions } from "../../connection/connect.js";
import { type TargetAddress, tellAddress } from "../../connection/target.js";
import { within } from "../../within.js";
import { type Check, type Finding, ok, warn } from "../check.js";
import type { Scene } from "../scene.js";

const doc = "docs/guide/topologies.md#sentinel";
const ANSWER_WITHIN_MS = 3_000;
const FEWEST = 3;

/** The report of one Sentinel about the master. */
export interface SentinelView {
  readonly address: string;
  /** How many other Sentinels this Sentinel knows. */
  readonly others: number;
  readonly quorum: number;
  readonly downAfterMs: number;
  readonly master: string;
  /** Why it says that there are too few Sentinels for a quorum; "" if there are enough. */
  readonly noQuorum: string;
}

/** A Sentinel that could not be asked. */
interface Silent {
  readonly address: string;
  readonly why: string;
}

/** Whether a lost master is replaced, and how soon. */
export const sentinel: Check = {
  id: "sentinel",
  moot: ({ target }) => (target.kind === "sentinel" ? undefined : "no redis+sentinel:// URL"),
  async look(scene) {
    const { target } = scene;
    if (target.kind !== "sentinel") return [];
    const answers = await Promise.all(target.sentinels.map((address) => view(scene, address, target.master)));
    const views = answers.filter((answer) => "quorum" in answer);
    const silent = answers.filter((answer) => "why" in answer);
    return judge(views, silent, scene.watchdogMs);
  },
};

async function view({ settings }: Scene, at: TargetAddress, master: string): Promise<SentinelView | Silent> {
  const address = tellAddress(at);
  const redis = new Redis({
    ...at,
    lazyConnect: true,
    connectTimeout: ANSWER_WITHIN_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    ...(settings.target.tls ? { tls: tlsOptions(settings) } : {}),
  });
  let failure: Error | undefined;
  redis.on("error", (error: Error) => {
    failure = error;
  });
  try {
    await within(ANSWER_WITHIN_MS, redis.connect());
    const told = pairs(await within(ANSWER_WITHIN_MS, redis.call("SENTINEL", "MASTER", master)));
    const noQuorum = await within(ANSWER_WITHIN_MS, redis.call("SENTINEL", "CKQUORUM", master)).then(
      () => "",
      (error: Error) => error.message,
    );
    return {
      address,
      others: Number(told.get("num-other-sentinels") ?? 0),
      quorum: Number(told.get("quorum") ?? 0),
      downAfterMs: Number(told.get("down-after-milliseconds") ?? 0),
      master: `${told.get("ip")}:${told.get("port")}`,
      noQuorum,
    };
  } catch (error) {
    const { message } = failure ?? (error instanceof Error ? error : { message: String(error) });
    return { address, why: message };
  } finally {
    redis.disconnect();
  }
}

export function judge(
  views: readonly SentinelView[],
  silent: readonly Silent[],
  watchdogMs: number,
): readonly Finding[] {
  const findings: Finding[] = [];
  const add = (found: string, why: string, wanted: string) =>
    findings.push(warn(found, { why, wanted, doc }));
  const addresses = (of: readonly { readonly address: string }[]) =>
    of.map(({ address }) => address).join(", ");
  const [first] = views;
  const count = Math.max(0, ...views.map(({ others }) => others + 1));
  const quorum = first?.quorum ?? 0;
  if (silent.length > 0)
    add(
      `no answer of ${silent.map(({ address, why }) => `${address} (${why})`).join(", ")}`,
      "An absent Sentinel has no vote when the master is lost.",
      "Start it again, or remove it from the URL.",
    );
  if (views.length > 0 && count < FEWEST)
    add(
      `${count === 1 ? "1 Sentinel" : `${count} Sentinels`}`,
      "If the master and one of fewer than three Sentinels are lost together, nothing replaces the master: no lock can be taken until an operator acts.",
      "Run three Sentinels, on three machines.",
    );
  const without = views.filter(({ noQuorum }) => noQuorum !== "");
  if (without.length > 0)
    add(
      `${addresses(without)}: ${without[0]?.noQuorum}`,
      "If the master is lost, nothing replaces it.",
      "Bring the missing Sentinels back, or set a quorum that they can reach.",
    );
  if (quorum === 1 && count > 1)
    add(
      "the quorum is 1",
      "A single Sentinel that is cut off can declare the master lost.",
      `Set a quorum of ${Math.floor(count / 2) + 1}.`,
    );
  if (new Set(views.map(({ master }) => master)).size > 1)
    add(
      `they name different masters: ${views.map(({ address, master }) => `${address} names ${master}`).join(", ")}`,
      "Programs that ask different Sentinels take locks on different servers.",
      "Look again in a minute. If they still differ, reset the Sentinels that are wrong.",
    );
  const late = views.filter(({ downAfterMs }) => downAfterMs > watchdogMs / 3);
  if (late.length > 0)
    add(
      `down-after-milliseconds is ${late[0]?.downAfterMs}, over a third of the watchdog's ${watchdogMs} ms (${addresses(late)})`,
      "The Sentinels replace a lost master only after that time: the master's locks may expire before they can be renewed.",
      `Set it to ${Math.floor(watchdogMs / 3)} or less, or watchdogMs to more.`,
    );
  if (findings.length > 0) return findings;
  return [
    ok(
      `${count} Sentinels, a quorum of ${quorum}, the master ${first?.master} counts as lost after ${first?.downAfterMs} ms`,
    ),
  ];
}

function pairs(reply: unknown): ReadonlyMap<string, string> {
  const words = Array.isArray(reply)
    ? reply.map(String)
    : Object.entries(reply ?? {})
        .flat()
        .map(String);
  return new Map(words.flatMap((word, at) => (at % 2 === 0 ? [[word, words[at + 1] ?? ""] as const] : [])));
}
