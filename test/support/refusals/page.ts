import { inPart } from "./in-part.js";
import { type Cell, scriptNames } from "./world.js";

const HEAD = `# What a refused command leaves

If Redis refuses a command in the middle of a script, it does not undo the commands before it. A command is refused if the user lacks a [right](../guide/servers.md#the-rights-that-are-needed), or if
the command was renamed. The scripts allow for that. Whichever command is refused, and however often the call is repeated:

- no key that should have a TTL is left without one;
- no count moves more than once: permits, latches, hold counts;
- once the user has the right, the lock or the permits can be acquired again, at the latest when the TTLs below are over.

A refused call fails with \`UnavailableError\`, whose message has the server's words. Fencing tokens may be skipped then, but none is given twice.
A full server, a replica, or a server with too few replicas refuses the first write of a script, so nothing has changed.

\`npm run table\` makes the table from tests. They refuse each command of each script to a user of a real server (\`ACL\`), in all the
situations of that script. *Before anything was done*: the call fails, and has changed nothing. *Done all the same*: the call is answered as usual.

In Redis 6.2 a script can not know which commands its user may run. So the script removes a lock without a TTL after the refusal, which needs \`HDEL\` or \`DEL\`: a user
without these and without \`PEXPIRE\` leaves the lock behind.

`;

const list = (commands: readonly string[]) => commands.map((command) => `\`${command}\``).join(" ") || "–";

/** @param cells by script */
export function pageOf(cells: ReadonlyMap<string, readonly Cell[]>): string {
  const rows = scriptNames.toSorted().map((name) => rowOf(name, cells.get(name) ?? []));
  const parts = Object.entries(inPart).map(([name, text]) => `- \`${name}\`: ${text}`);
  return [
    HEAD,
    "| Script | Before anything was done | Done all the same | In part |\n| --- | --- | --- | --- |\n",
    ...rows,
    "\n## What is done in part\n\nWhat is left ends by its TTL.\n\n",
    `${parts.join("\n")}\n`,
  ].join("");
}

/** Each command as it does worst. */
function rowOf(name: string, cells: readonly Cell[]): string {
  const [none, all, part] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const { command, outcome } of cells) {
    if (outcome.isInPart) part.add(command);
    else (outcome.error === undefined ? all : none).add(command);
  }
  const before = [...none].filter((command) => !part.has(command));
  const done = [...all].filter((command) => !part.has(command) && !none.has(command));
  return `| \`${name}\` | ${list(before.sort())} | ${list(done.sort())} | ${list([...part].sort())} |\n`;
}
