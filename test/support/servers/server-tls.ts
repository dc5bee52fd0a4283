import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** A certificate and its private key, as PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** A certificate authority that nobody else knows, and what it has signed. */
export interface Certificates {
  readonly ca: string;
  /** For `localhost`, 127.0.0.1 and ::1. Servers also show it to each other. */
  readonly server: KeyPair;
  readonly client: KeyPair;
}

/** How a server takes part in TLS. */
export interface ServerTls {
  readonly certificates: Certificates;
  /** Whether clients have to show a certificate of the same authority. */
  readonly clientsShowTheirs: boolean;
}

/** What makes a server listen by TLS as well, also for its replicas and for the nodes of its cluster. */
export function tlsArguments(
  { certificates, clientsShowTheirs }: ServerTls,
  port: number,
  folder: string,
): readonly string[] {
  const file = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const given = {
    "tls-port": String(port),
    "tls-ca-cert-file": file("ca.crt", certificates.ca),
    "tls-cert-file": file("server.crt", certificates.server.cert),
    "tls-key-file": file("server.key", certificates.server.key),
    "tls-auth-clients": clientsShowTheirs ? "yes" : "no",
    "tls-replication": "yes",
    "tls-cluster": "yes",
  };
  return Object.entries(given).flatMap(([name, value]) => [`--${name}`, value]);
}
