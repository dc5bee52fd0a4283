import type { Driver } from "../../../src/driver/driver.js";
import { ScriptDriver } from "../../../src/driver/script-driver.js";
import { assertUsable, type Plain } from "./client.js";
import { PlainServerPort } from "./server.js";

/**
 * Runs holdfast on a `PlainClient`, which stays the caller's.
 *
 * @throws TypeError for what is none
 */
export function plainDriver(client: Plain): Driver {
  assertUsable(client);
  return new ScriptDriver((events) => new PlainServerPort(client, events));
}
