import { shellWord } from "../text/shell-word.js";
import type { ConnectionOptions } from "./settings.js";

/**
 * The connection options as they were typed. The command lines that holdfast prints contain them, and so reach the same keys. A URL with
 * a login is left out.
 */
export function connectionAsTyped(options: ConnectionOptions): readonly string[] {
  const { url, user, passwordFile, tlsCa, tlsCert, tlsKey, tlsServerName, tlsNoVerify, prefix, group } =
    options;
  const given = {
    "--url": url?.includes("@") ? undefined : url,
    "--user": user,
    "--password-file": passwordFile,
    "--tls-ca": tlsCa,
    "--tls-cert": tlsCert,
    "--tls-key": tlsKey,
    "--tls-server-name": tlsServerName,
    "--prefix": prefix,
    "--group": group,
  };
  const words = Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name} ${shellWord(value)}`],
  );
  return tlsNoVerify === true ? [...words, "--tls-no-verify"] : words;
}
