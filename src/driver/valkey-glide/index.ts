import type { Driver } from "../driver.js";
import { ScriptDriver } from "../script-driver.js";
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
 * scripts, whatever else it is used for. With the second holdfast listens, and nobody else may. Both stay the caller's, who
 * closes them.
 *
 * GLIDE does not tell when it has connected anew. The subscriber is asked once in a second, as long as somebody listens: so
 * late do those who wait for a lock learn that they may have missed a message.
 *
 * @throws TypeError for what are no two such clients, a subscriber with RESP2, with a callback or without
 * `defaultDecoder: Decoder.Bytes`, and one that another driver listens with.
 */
export function valkeyGlideDriver<Client extends ValkeyGlideClient | ValkeyGlideClusterClient>(
  client: Client,
  options: ValkeyGlideOptions<Client>,
): Driver {
  assertUsable(client, options?.subscriber);
  return new ScriptDriver((events) => new ValkeyGlidePort(client, options.subscriber, events));
}
