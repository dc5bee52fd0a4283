// @ts-check
/** Tells play.mjs where the server listens, and for which locks requests wait. */
import { events } from "holdfast";
import { server } from "./server.mjs";

process.send?.(server.address());
events.contended.subscribe(({ name }) => void process.send?.({ waitsFor: name }));
// Nothing is left where play.mjs was cut short, and else it does not keep the process.
process.once("disconnect", () => process.exit());
process.channel?.unref();
