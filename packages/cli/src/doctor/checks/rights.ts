import { type Check, type Finding, fail, ok, warn } from "../check.js";
import { CHANNEL, KEY, type Right, rightLines } from "../rights.js";
import { ask, type Scene, type WritableServer } from "../scene.js";
import { remove, type TrialFailure, trialCount, tryAll } from "../trials.js";

const doc = "docs/guide/servers.md#the-rights-that-are-needed";

/** What a user may not do. */
export interface MissingRights {
  readonly commands: readonly Right[];
  /** Patterns of the keys and channels that the user may not use, with NAME for the name of a lock. */
  readonly keys: readonly string[];
}

/** Whether programs have the rights that locks need: each command is checked by itself, and each kind of lock is tried. */
export const rights: Check = {
  id: "rights",
  async look(scene) {
    const all = await Promise.all(scene.servers.map((server) => refusalsAt(server, scene)));
    const failures = await tryAll(scene);
    await remove(scene, [scene.trialKey]);
    return judge({ ...joined(all), failures, user: await userName(scene), name: beginning(scene) });
  },
};

/** Checks each command of the ACL line. Redis checks rights before types, slots and replicas. */
async function refusalsAt(server: WritableServer, scene: Scene): Promise<MissingRights> {
  const { trialKey, isCluster } = scene;
  const channel = `redisson_lock__channel:${tagOf(trialKey)}`;
  const asked = [...rightLines.flat()].sort((a, b) => turn(a) - turn(b));
  const commands = await Promise.all(
    asked.map(async (right) => {
      if (right.call === undefined || (right.need === "cluster" && !isCluster)) return [];
      const [command = "", ...args] = right.call.map((word) =>
        word === KEY ? trialKey : word === CHANNEL ? channel : word,
      );
      return /to run the|subcommand/i.test(await refusal(server, command, args)) ? [right] : [];
    }),
  );
  const keys = await Promise.all(
    [...keyFamilies(trialKey)].map(async ([family, key]) =>
      /\bkeys?\b/i.test(await refusal(server, "EXISTS", [key])) ? [family] : [],
    ),
  );
  const isChannelRefused = /\bchannels?\b/i.test(await refusal(server, "PUBLISH", [channel, ""]));
  return {
    commands: commands.flat(),
    keys: [...keys.flat(), ...(isChannelRefused ? ["&redisson_*{NAME*"] : [])],
  };
}

/**
 * The order of the calls. SET comes first and creates the key with a TTL, so that commands for other types refuse to write to the key. At
 * the end PEXPIRE sets a TTL again, and DEL deletes the key.
 */
const TURNS: Readonly<Record<string, number>> = { set: -1, pexpire: 1, del: 2 };

function turn({ name }: Right): number {
  return TURNS[name] ?? 0;
}

/** The key patterns that locks need rights for, each with a key to try. */
function keyFamilies(key: string): ReadonlyMap<string, string> {
  const tag = tagOf(key);
  // A name that contains braces gets no further braces.
  const open = tag === key ? "" : "{";
  return new Map([
    ["~NAME*", key],
    [`~${open}NAME*`, `${tag}:timeout`],
    [`~redisson_*:${open}NAME*`, `redisson_lock_queue:${tag}`],
    [`~holdfast_*:${open}NAME*`, `holdfast_fair_alive:${tag}`],
  ]);
}

function tagOf(key: string): string {
  return key.includes("{") ? key : `{${key}}`;
}

/** The server's error if the user has no right to the call, otherwise "". */
async function refusal({ redis }: WritableServer, command: string, args: readonly string[]): Promise<string> {
  try {
    await redis.call(command, ...args);
    return "";
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return message.startsWith("NOPERM") ? message : "";
  }
}

function joined(all: readonly MissingRights[]): MissingRights {
  return {
    commands: [...new Set(all.flatMap(({ commands }) => commands))],
    keys: [...new Set(all.flatMap(({ keys }) => keys))],
  };
}

async function userName({ anyServer, settings }: Scene): Promise<string> {
  try {
    return String(await ask(anyServer, "ACL", "WHOAMI"));
  } catch {
    return settings.target.login.username ?? "default";
  }
}

function beginning({ settings: { prefix }, name }: Scene): string {
  return prefix + (name ?? "holdfast-doctor");
}

interface FoundRights extends MissingRights {
  readonly failures: readonly TrialFailure[];
  readonly user: string;
  /** The prefix of the keys that were tried. */
  readonly name: string;
}

export function judge({ commands, keys, failures, user, name }: FoundRights): readonly Finding[] {
  const findings: Finding[] = [];
  const line = (given: readonly string[]) => `ACL SETUSER ${user} ${given.join(" ")}`;
  if (keys.length > 0)
    findings.push(
      fail(`the user ${user} has no right to ${keys.join(" ")}, where NAME is ${name}`, {
        why: "Besides its own key, a lock has other keys and a channel, all named after it.",
        wanted: `If the user's locks have other names, pass one of them with --name. Otherwise replace NAME by the beginning of your lock names, and run: ${line(keys)}`,
        doc,
      }),
    );
  const missing = commands.filter(({ need }) => need !== "less");
  if (missing.length > 0)
    findings.push(
      fail(`the user ${user} may not run ${missing.map(commandName).join(", ")}`, {
        why: consequence(failures),
        wanted: line(missing.map((right) => `+${right.name}`)),
        doc,
      }),
    );
  else if (failures.length > 0 && findings.length === 0)
    findings.push(
      fail(`${failures.length} of ${trialCount} trials failed: ${list(failures)}`, {
        why: `The first error: ${failures[0]?.error}`,
        wanted: "Look at the other checks of this server.",
        doc: "docs/guide/servers.md#managed-services",
      }),
    );
  const less = commands.filter(({ need }) => need === "less");
  if (less.length > 0)
    findings.push(
      warn(`the user ${user} may not run ${less.map(commandName).join(", ")}`, {
        why: `Locks work without: ${[...new Set(less.map(({ without = "" }) => without))].join("; ")}.`,
        wanted: line(less.map((right) => `+${right.name}`)),
        doc,
      }),
    );
  return findings.length > 0
    ? findings
    : [ok(`the user ${user} has all rights that locks need; ${trialCount} trials succeeded`)];
}

function consequence(failures: readonly TrialFailure[]): string {
  if (failures.length === 0) return "Some calls of programs need these commands.";
  if (failures.length === trialCount) return `All ${trialCount} trials failed.`;
  return `Of ${trialCount} trials these failed: ${list(failures)}.`;
}

function list(failures: readonly TrialFailure[]): string {
  return failures.map(({ what }) => what).join(", ");
}

function commandName({ name }: Right): string {
  return name.replace("|", " ").toUpperCase();
}
