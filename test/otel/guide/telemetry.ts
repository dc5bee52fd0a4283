// #region telemetry
import { registerInstrumentations } from "@opentelemetry/instrumentation";
import { IORedisInstrumentation } from "@opentelemetry/instrumentation-ioredis";
import { foldNames, HoldfastInstrumentation } from "holdfast/otel";

registerInstrumentations({
  instrumentations: [new HoldfastInstrumentation({ lockName: foldNames() }), new IORedisInstrumentation()],
});
// #endregion
