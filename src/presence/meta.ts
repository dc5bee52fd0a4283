import { environment } from "../environment.js";
import { VERSION } from "../version.js";
import { LONGEST_APP, type PresenceSettings } from "./presence-options.js";

/** What the name of a machine may be long. */
export const LONGEST_HOST = 253;

/**
 * What a client is, as it is stored.
 * @param startedMs when it was made, on the server's clock
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
