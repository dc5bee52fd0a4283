import { checkFlag, checkObject, known, refuseUnknown, shown } from "../checks.js";
import { type Clock, systemClock } from "../clock.js";

/** Instruments that are switched on and off together. */
export type MetricGroup = "acquire" | "hold" | "renewal" | "failure" | "command";

/** The metrics and traces to produce, and their names. */
export interface HoldfastInstrumentationConfig {
  /** Whether the constructor enables the instrumentation. Default: true. */
  enabled?: boolean;
  /**
   * Makes the attribute `holdfast.lock.name` of metrics; returns undefined for no attribute. The attribute must have few values, because
   * each is a separate time series; {@link foldNames} makes such a function. Default: metrics have no lock names.
   */
  lockName?: (name: string, kind: string) => string | undefined;
  /** Which calls have a span, with the full name of the lock: contended or unsuccessful calls, all, or none. Default: `contended`. */
  spans?: "contended" | "all" | "off";
  /** The groups of instruments to measure. Default: all except `command`, because Redis clients measure their commands themselves. */
  enabledMetricGroups?: readonly MetricGroup[];
  /** Time; a fake clock for tests. Default: the clock of the process. */
  clock?: Clock;
}

/** The configuration with every default filled in. */
export interface OtelSettings {
  readonly enabled: boolean;
  readonly lockName: NonNullable<HoldfastInstrumentationConfig["lockName"]> | undefined;
  readonly spans: "contended" | "all" | "off";
  readonly groups: ReadonlySet<MetricGroup>;
  readonly clock: Clock;
}

const CONFIG = known<HoldfastInstrumentationConfig>("option", "HoldfastInstrumentation", {
  enabled: true,
  lockName: true,
  spans: true,
  enabledMetricGroups: true,
  clock: true,
});
const SPANS = ["contended", "all", "off"];
const GROUPS: readonly MetricGroup[] = ["acquire", "hold", "renewal", "failure", "command"];
const USUAL: readonly MetricGroup[] = GROUPS.filter((group) => group !== "command");

/** @throws TypeError naming the option that is wrong */
export function settingsOf(config: HoldfastInstrumentationConfig): OtelSettings {
  checkObject("config", config, '{ spans: "all" }');
  const {
    enabled = true,
    lockName,
    spans = "contended",
    enabledMetricGroups = USUAL,
    clock = systemClock,
    ...unknown
  } = config;
  refuseUnknown(CONFIG, unknown);
  checkFlag("enabled", enabled);
  if (lockName !== undefined && typeof lockName !== "function") {
    throw new TypeError(`lockName must be a function, got ${shown(lockName)}`);
  }
  if (!SPANS.includes(spans)) {
    throw new TypeError(`spans must be "contended", "all" or "off", got ${shown(spans)}`);
  }
  return { enabled, lockName, spans, groups: groupsOf(enabledMetricGroups), clock };
}

function groupsOf(groups: readonly MetricGroup[]): ReadonlySet<MetricGroup> {
  const named = `an array of ${GROUPS.join(", ")}`;
  if (!Array.isArray(groups)) {
    throw new TypeError(`enabledMetricGroups must be ${named}, got ${shown(groups)}`);
  }
  const wrong = groups.find((group) => !GROUPS.includes(group));
  if (wrong !== undefined)
    throw new TypeError(`enabledMetricGroups must be ${named}, got ${shown(wrong)} in it`);
  return new Set(groups);
}
