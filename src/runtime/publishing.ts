import type { ClientSettings } from "../client-options.js";
import type { DriverTraits } from "../driver/driver.js";
import type { Publishing } from "../protocol/dialect.js";

/**
 * Which family of messages a client uses; undefined where a server of the cluster is to be asked first what it knows.
 * @throws TypeError when the driver cannot do what the option asks for
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
