import { environment } from "../environment.js";
import { VERSION } from "../version.js";
import { LONGEST_APP, type PresenceSettings } from "./presence-options.js";

/** The longest name of a machine. */
export const LONGEST_HOST = 253;

/**
 * The stored description of a client.
 * @param startedMs when the client was created, on the server's clock
 */
export function encodeMeta({ app, host, labels }: PresenceSettings, startedMs: number): string {
  const self = environment.identity();
  return JSON.stringify({
    app: app ?? self.app.slice(0, LONGEST_APP),
    ...(host && { host: self.host.slice(0, LONGEST_HOST) }),
    pid: self.pid,
    startedMs,
    lib: `holdfast ${VERSION}`,
    runtime: self.runtime,
    labels,
  });
}
