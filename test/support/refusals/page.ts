import { inPart } from "./in-part.js";
import { type Cell, scriptNames } from "./world.js";

const HEAD = `# What a refused command leaves

If Redis refuses a command in the middle of a script, the effects of the script's earlier commands remain. A command is refused if the user lacks a [right](../guide/servers.md#the-rights-that-are-needed), or if
the command was renamed. The following is true after every refused command, even if the call is repeated:

- no key that should have a TTL is left without one;
- no count of permits, of a latch or of holds changes more than once;
- once the user has the right, the lock or the permits can be acquired again, at the latest when the TTLs below are over.

A refused call fails with \`UnavailableError\`, whose message has the server's words. The call may skip a fencing token, but no token is given twice.
A full server, a replica, or a server with too few replicas refuses the first write of a script, so nothing has changed.

\`npm run table\` makes the table from tests. On a real server, the tests take the right to each command of a script away from a user (\`ACL\`), in all
situations of that script. *Nothing was done*: the call fails, and has changed nothing. *Done anyway*: the call is answered as usual. *In part*: the list below the table names the effects.

In Redis 6.2 a script can not know which commands its user may run. If \`PEXPIRE\` is refused, the script has already written the
lock, and removes it by \`HDEL\` or \`DEL\`. If the user lacks these rights too, the lock stays without a TTL.

`;

const list = (commands: readonly string[]) => commands.map((command) => `\`${command}\``).join(" ") || "–";

/** @param cells by script */
export function pageOf(cells: ReadonlyMap<string, readonly Cell[]>): string {
  const rows = scriptNames.toSorted().map((name) => rowOf(name, cells.get(name) ?? []));
  const parts = Object.entries(inPart).map(([name, text]) => `- \`${name}\`: ${text}`);
  return [
    HEAD,
    "| Script | Nothing was done | Done anyway | In part |\n| --- | --- | --- | --- |\n",
    ...rows,
    "\n## What is done in part\n\nEvery key that remains expires by its TTL.\n\n",
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
