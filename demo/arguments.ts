import { parseArgs } from "node:util";

/** What the arguments of the demo ask for. */
export type Wanted =
  | { readonly kind: "help" }
  | { readonly kind: "play"; readonly redisUrl: string | undefined }
  | { readonly kind: "inspect" }
  | { readonly kind: "mistake"; readonly complaint: string };

export const help: string = `holdfast demo: distributed locks in ten short scenes, in under a minute.

  npm run demo                                      on the embedded server, in this process
  npm run demo -- --redis redis://127.0.0.1:6379    on a real server, with four processes
  npm run demo -- --inspect                         a fleet at work, and the page that shows its locks

  --redis <url>   redis:// or rediss://, with user, password and database if need be
  --inspect       until Ctrl-C, on the embedded server
  --help          this text

The demo uses no keys but "holdfast-demo:<random>:…" and removes them at its end.
NO_COLOR=1 turns the colours off.

Exit code: 0 all checks were true; 1 one was not, or the demo could not go on;
           2 wrong arguments; 130 stopped by Ctrl-C
`;

const FORGOTTEN_DASHES = 'those of the demo come after two dashes: "npm run demo -- --redis <url>"';

export function readArguments(args: readonly string[]): Wanted {
  const { tokens } = parseArgs({
    args: [...args],
    options: {
      redis: { type: "string" },
      inspect: { type: "boolean" },
      help: { type: "boolean", short: "h" },
    },
    strict: false,
    tokens: true,
  });
  let redisUrl: string | undefined;
  let isInspect = false;
  for (const token of tokens) {
    if (token.kind === "option-terminator") continue;
    if (token.kind === "positional") return mistake(`there is an argument too many; ${FORGOTTEN_DASHES}`);
    if (token.name === "help") return { kind: "help" };
    if (token.name === "inspect") {
      isInspect = true;
      continue;
    }
    if (token.name !== "redis") return mistake(`there is no option ${token.rawName}; try --help`);
    const complaint = complaintAbout(token.value);
    if (complaint !== undefined) return mistake(complaint);
    redisUrl = token.value;
  }
  if (isInspect && redisUrl !== undefined) return mistake("--inspect is for the embedded server alone");
  return isInspect ? { kind: "inspect" } : { kind: "play", redisUrl };
}

function mistake(complaint: string): Wanted {
  return { kind: "mistake", complaint };
}

function complaintAbout(url: string | undefined): string | undefined {
  const example = "such as redis://127.0.0.1:6379";
  if (url === undefined || url === "" || url.startsWith("--")) return `--redis needs a URL, ${example}`;
  // No echo of what may hold a password.
  if (!URL.canParse(url)) return `--redis needs a URL, ${example}; what was given is none`;
  const { protocol } = new URL(url);
  if (protocol === "redis:" || protocol === "rediss:") return undefined;
  return `--redis needs a URL that begins with redis:// or rediss://, not with ${protocol}//`;
}
