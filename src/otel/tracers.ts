import { type Tracer, type TracerProvider, trace } from "@opentelemetry/api";
import { VERSION } from "../version.js";
import { SCOPE } from "./instruments.js";

/** @param provider undefined: the global provider, even if the program sets it later */
export function tracerOf(provider: TracerProvider | undefined): Tracer {
  return (provider ?? trace).getTracer(SCOPE, VERSION);
}
