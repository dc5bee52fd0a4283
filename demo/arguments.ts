import { parseArgs } from "node:util";
import { allScenes } from "./scenes/all-scenes.js";
import type { Scene } from "./scenes/scene.js";

/** Which scenes to play, and how. */
export interface Playbill {
  readonly redisUrl: string | undefined;
  readonly scenes: readonly Scene[];
  /** How long each step stays before the next. Without it only a terminal gets pauses, for the introductions. */
  readonly pauseMs: number | undefined;
}

/** What the arguments of the demo ask for. */
export type Wanted =
  | { readonly kind: "help" | "scenes" | "inspect" }
  | { readonly kind: "play"; readonly playbill: Playbill }
  | { readonly kind: "mistake"; readonly complaint: string };

export const help: string = `holdfast demo: distributed locks in ${allScenes.length} short scenes, in less than a minute.

  npm run demo                                      on the embedded server, in this process
  npm run demo -- --redis redis://127.0.0.1:6379    on a real server, with four processes
  npm run demo -- --scene killed --scene frozen     these two scenes
  npm run demo -- --inspect                         a fleet at work, and the page that shows its locks

  --redis <url>   redis:// or rediss://, with user, password and database if need be
  --scene <name>  plays this scene; repeat it for more. They are played in the order of --scenes
  --scenes        lists the scenes with their names
  --pause <ms>    pauses so long after each introduction, result and scene; 0: never
  --inspect       until Ctrl-C, on the embedded server
  --help          this text

The demo uses no keys but those with "holdfast-demo:<random>:" in their names, and removes them at its end.
NO_COLOR=1 turns the colours off.

Exit code: 0 all checks were true; 1 one was not, or the demo could not go on;
           2 wrong arguments; 130 stopped by Ctrl-C
`;

/** The names of the scenes, each with its title. */
export function listOfScenes(): string {
  const columns = Math.max(...allScenes.map(({ name }) => name.length));
  return allScenes.map(({ name, title }) => `  ${name.padEnd(columns)}  ${title}\n`).join("");
}

const LONGEST_PAUSE_MS = 60_000;
const FORGOTTEN_DASHES = 'those of the demo come after two dashes: "npm run demo -- --redis <url>"';

export function readArguments(args: readonly string[]): Wanted {
  const { tokens } = parseArgs({
    args: [...args],
    options: {
      redis: { type: "string" },
      scene: { type: "string" },
      scenes: { type: "boolean" },
      pause: { type: "string" },
      inspect: { type: "boolean" },
      help: { type: "boolean", short: "h" },
    },
    strict: false,
    tokens: true,
  });
  const values = new Map<string, (string | undefined)[]>();
  for (const token of tokens) {
    if (token.kind === "option-terminator") continue;
    if (token.kind === "positional") return mistake(`there is an argument too many; ${FORGOTTEN_DASHES}`);
    const complain = OPTIONS[token.name];
    if (complain === undefined) return mistake(`there is no option ${token.rawName}; try --help`);
    const complaint = complain(token.value);
    if (complaint !== undefined) return mistake(complaint);
    values.set(token.name, [...(values.get(token.name) ?? []), token.value]);
  }
  return wanted(values);
}

function wanted(values: ReadonlyMap<string, readonly (string | undefined)[]>): Wanted {
  if (values.has("help")) return { kind: "help" };
  if (values.has("scenes")) return { kind: "scenes" };
  if (values.has("inspect")) {
    const [other] = ["redis", "scene", "pause"].filter((name) => values.has(name));
    if (other === "redis") return mistake("--inspect is for the embedded server alone");
    return other === undefined
      ? { kind: "inspect" }
      : mistake(`--inspect plays no scenes: leave out --${other}`);
  }
  const names = values.get("scene");
  const pause = values.get("pause")?.at(-1);
  return {
    kind: "play",
    playbill: {
      redisUrl: values.get("redis")?.at(-1),
      scenes: names === undefined ? allScenes : allScenes.filter(({ name }) => names.includes(name)),
      pauseMs: pause === undefined ? undefined : Number(pause),
    },
  };
}

/** What each option says about its value, where that is wrong. */
const OPTIONS: Readonly<Record<string, (value: string | undefined) => string | undefined>> = {
  redis: complaintAboutUrl,
  scene: (name) => {
    if (allScenes.some((scene) => scene.name === name)) return undefined;
    const given = name === undefined ? "--scene needs a name" : `there is no scene "${name}"`;
    return `${given}: choose among ${allScenes.map((scene) => scene.name).join(", ")}`;
  },
  pause: (ms) => {
    if (/^\d+$/.test(ms ?? "") && Number(ms) <= LONGEST_PAUSE_MS) return undefined;
    return `--pause needs whole milliseconds, ${LONGEST_PAUSE_MS} at most`;
  },
  scenes: () => undefined,
  inspect: () => undefined,
  help: () => undefined,
};

function mistake(complaint: string): Wanted {
  return { kind: "mistake", complaint };
}

function complaintAboutUrl(url: string | undefined): string | undefined {
  const example = "such as redis://127.0.0.1:6379";
  if (url === undefined || url === "" || url.startsWith("--")) return `--redis needs a URL, ${example}`;
  // No echo of what may hold a password.
  if (!URL.canParse(url)) return `--redis needs a URL, ${example}; what was given is none`;
  const { protocol } = new URL(url);
  if (protocol === "redis:" || protocol === "rediss:") return undefined;
  return `--redis needs a URL that begins with redis:// or rediss://, not with ${protocol}//`;
}
