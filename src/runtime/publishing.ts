import type { ClientSettings } from "../client-options.js";
import type { DriverTraits } from "../driver/driver.js";
import type { Publishing } from "../protocol/dialect.js";

/**
 * Which kind of messages a client uses; undefined if a server of the cluster must first be asked what it supports.
 * @throws TypeError if the driver does not support the option
 */
export function publishingOf(
  pubSub: ClientSettings["pubSub"],
  { topology, sharded = false }: DriverTraits,
): Publishing | undefined {
  if ((pubSub === "sharded" || pubSub === "both") && !sharded) {
    throw new TypeError(
      `pubSub "${pubSub}" needs a cluster and a driver that can listen to sharded messages`,
    );
  }
  if (pubSub !== "auto") return pubSub;
  return topology === "cluster" && sharded ? undefined : "classic";
}
