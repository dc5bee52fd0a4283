import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isBefore7 } from "./redis-program.js";

const page = readFileSync(fileURLToPath(new URL("../../../docs/guide/servers.md", import.meta.url)), "utf8");

/** The rights of the user `orders`, as the guide names them, for `ACL SETUSER`. */
export const documentedRights: readonly string[] = words(/```text\nACL SETUSER orders ([^`]+)```/);

/** What presence needs besides. */
export const presenceRight: string = words(/also need the keys of the group: `([^`]+)`/)[0] ?? "";

const unknownTo62 = words(/Redis 6\.2 refuses the whole line, .*: leave out `([^`]+)`/);

/** Those of them that the server to test with knows. */
export const knownRights: readonly string[] = isBefore7()
  ? documentedRights.filter((right) => !unknownTo62.includes(right))
  : documentedRights;

/** What they let in. */
export const documentedUser = { username: "orders", password: "secret" } as const;

function words(part: RegExp): readonly string[] {
  const found = part.exec(page)?.[1];
  if (found === undefined) throw new Error(`docs/guide/servers.md no longer says ${part.source}`);
  return found.trim().split(/\s+/);
}
