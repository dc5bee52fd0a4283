import type { Check } from "../check.js";
import { clock } from "./clock.js";
import { aloneInCluster, cluster } from "./cluster.js";
import { fleet } from "./fleet.js";
import { foreign } from "./foreign.js";
import { limits } from "./limits.js";
import { eviction, memory } from "./memory.js";
import { messages } from "./messages.js";
import { persistence } from "./persistence.js";
import { reach } from "./reach.js";
import { replicas, role } from "./replication.js";
import { rights } from "./rights.js";
import { sentinel } from "./sentinel.js";
import { slow } from "./slow.js";
import { version } from "./version.js";

/**
 * All checks, in the order in which their results are printed. The first check runs alone, because the others would disturb its
 * measurements.
 */
export const allChecks: readonly Check[] = [
  reach,
  version,
  aloneInCluster,
  cluster,
  sentinel,
  role,
  replicas,
  eviction,
  memory,
  persistence,
  limits,
  slow,
  clock,
  rights,
  messages,
  fleet,
  foreign,
];
