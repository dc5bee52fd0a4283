// @ts-check
/** Tells play.mjs where the server listens. */
import { server } from "./server.mjs";

process.send?.(server.address());
// Nothing is left where play.mjs was cut short, and else it does not keep the process.
process.once("disconnect", () => process.exit());
process.channel?.unref();
