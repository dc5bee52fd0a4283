import type { HoldfastOptions } from "../../../src/client-options.js";
import type { Holdfast } from "../../../src/holdfast.js";
import type { OpenBackend } from "../servers/backends.js";
import { ScriptedDriver } from "./scripted-driver.js";

/** A client of the backend, and the driver that does to its calls what a test has planned. */
export function scriptedClient(
  backend: OpenBackend,
  options: HoldfastOptions = {},
): { readonly client: Holdfast; readonly driver: ScriptedDriver } {
  let driver: ScriptedDriver | undefined;
  const client = backend.client(options, (inner) => {
    driver = new ScriptedDriver(inner);
    return driver;
  });
  if (driver === undefined) throw new Error("a client has a driver");
  return { client, driver };
}
