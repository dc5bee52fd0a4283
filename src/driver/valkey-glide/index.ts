import type { Driver } from "../driver.js";
import { ScriptDriver } from "../script-driver.js";
import { wrappable } from "../wrappable.js";
import {
  assertUsable,
  type ValkeyGlideClient,
  type ValkeyGlideClusterClient,
  type ValkeyGlideOptions,
} from "./client.js";
import { ValkeyGlidePort } from "./server.js";

export type {
  ValkeyGlideClient,
  ValkeyGlideClusterClient,
  ValkeyGlideMessage,
  ValkeyGlideOptions,
  ValkeyGlideRoute,
  ValkeyGlideSubscriptions,
} from "./client.js";

/**
 * Runs holdfast on clients of Valkey GLIDE 2.3 or later: two of `GlideClient`, or two of `GlideClusterClient`. The first client runs
 * scripts, and you may use it for anything else. The second client listens for holdfast alone. The caller closes both.
 *
 * GLIDE emits no event when it has reconnected. While there is a subscription, holdfast asks about its connections every second: a call that
 * waits for a lock learns at most a second late that it may have missed a message.
 *
 * @throws TypeError if either is not such a client, or if the subscriber uses RESP2, has a callback, lacks `defaultDecoder: Decoder.Bytes`,
 * or already serves another driver.
 * @example const holdfast = new Holdfast(valkeyGlideDriver(client, { subscriber }));
 */
export function valkeyGlideDriver<Client extends ValkeyGlideClient | ValkeyGlideClusterClient>(
  client: Client,
  options: ValkeyGlideOptions<Client>,
): Driver {
  assertUsable(client, options?.subscriber);
  return wrappable(new ScriptDriver((events) => new ValkeyGlidePort(client, options.subscriber, events)));
}
