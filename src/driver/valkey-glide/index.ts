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
 * Runs holdfast on clients of Valkey GLIDE 2.3 or later: two of `GlideClient`, or two of `GlideClusterClient`. The first runs
 * scripts, whatever else it is used for. With the second only holdfast listens. The caller closes both.
 *
 * GLIDE emits no event when it has reconnected. The subscriber is asked once in a second, as long as there is a subscription: a call
 * that waits for a lock so learns a second late, at most, that it may have missed a message.
 *
 * @throws TypeError unless both are such clients; for a subscriber with RESP2, with a callback, without
 * `defaultDecoder: Decoder.Bytes`, or with which another driver listens.
 */
export function valkeyGlideDriver<Client extends ValkeyGlideClient | ValkeyGlideClusterClient>(
  client: Client,
  options: ValkeyGlideOptions<Client>,
): Driver {
  assertUsable(client, options?.subscriber);
  return wrappable(new ScriptDriver((events) => new ValkeyGlidePort(client, options.subscriber, events)));
}
