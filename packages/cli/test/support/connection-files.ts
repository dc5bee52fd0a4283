import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Certificates } from "../../../../test/support/servers/server-tls.js";

/** Files for the options of a connection, in a folder of their own. */
export interface ConnectionFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  readonly password: string;
  remove(): void;
}

export function connectionFiles({ ca, client }: Certificates, password: string): ConnectionFiles {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-connections-"));
  const file = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  return {
    ca: file("ca.pem", ca),
    cert: file("client.pem", client.cert),
    key: file("client.key", client.key),
    password: file("password", `${password}\n`),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
