import type { Holdfast } from "../../../src/holdfast.js";
import type { Checker } from "../checker/checker.js";
import type { Fires } from "../checker/fires.js";
import type { History } from "../checker/history.js";
import type { Holders } from "../checker/holders.js";
import type { Keyspace } from "../checker/keyspace.js";
import type { Losses } from "../checker/losses.js";
import type { Occupied } from "../checker/occupied.js";
import type { RedTerms } from "../checker/red-terms.js";
import type { Signals } from "../checker/signals.js";
import type { Trouble } from "../checker/trouble.js";
import type { Watch } from "../checker/watch.js";
import type { Chooser } from "../chooser/chooser.js";
import type { Line } from "../world/fleet.js";
import type { OwnEnvironment } from "../world/own-environment.js";
import type { SimProcess } from "../world/sim-process.js";
import type { Bodies } from "./bodies.js";
import type { Shared } from "./family.js";
import type { ClientPlan } from "./plan.js";

/** What all that happens in one run shares. */
export interface Scene {
  readonly chooser: Chooser;
  readonly checker: Checker;
  readonly history: History;
  readonly trouble: Trouble;
  readonly occupied: Occupied;
  readonly signals: Signals;
  readonly losses: Losses;
  /** Undefined where there are no red locks. */
  readonly redTerms: RedTerms | undefined;
  readonly holders: Holders;
  /** Undefined where a failover may lose what was begun. */
  readonly fires: Fires | undefined;
  readonly keyspace: Keyspace;
  readonly environment: OwnEnvironment;
  readonly shared: readonly Shared[];
  /** What watches a name. */
  watchOf<W extends Watch>(name: string, sort: new (...args: never[]) => W): W;
  /** The process has no such permits any more, and the collection of garbage has noticed. */
  forget(permits: object): void;
  /** Virtual time. */
  readonly nowUs: () => number;
}

/** One process of the fleet, with its client. */
export interface Member {
  readonly process: SimProcess;
  readonly holdfast: Holdfast;
  /** Its connections. */
  readonly lines: readonly Line[];
  /** Told at each call of a task, once it was made. */
  readonly whenCalled: Set<() => void>;
  /** One for each of the servers that know nothing of each other; the first is `holdfast`. */
  readonly clients: readonly [Holdfast, ...Holdfast[]];
  readonly plan: ClientPlan;
  /** Undefined where nothing goes around them. */
  readonly bodies: Bodies | undefined;
  /** Whether somebody has closed the client. */
  isClosing: boolean;
}
