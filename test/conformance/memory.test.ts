import type { ConformanceHarness } from "../../src/driver/conformance/index.js";
import { MemoryServer, memoryDriver } from "../../src/memory/index.js";
import { runConformance } from "../support/drivers/conformance-runner.js";
import { watchLeaks } from "../support/run/leaks.js";

watchLeaks();

const server = new MemoryServer();
const harness: ConformanceHarness = {
  // Nothing can be cut or ended, as there is no connection, and no scripts forgotten, as none are kept.
  connect: async () => memoryDriver(server),
  countsReceivers: true,
  masters: 1,
  keepsOrder: true,
};

runConformance("memoryDriver", harness);
