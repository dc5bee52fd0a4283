import { checkCount, checkObject, checkSignal, known, refuseUnknown, shown } from "../checks.js";

/** A client's report about itself to its group, and how often it reports. */
export interface PresenceOptions {
  /**
   * The name of the program, at most 64 characters. Default: the name of the npm package that was started, else the file name of the
   * program.
   */
  readonly app?: string;
  /** `false`: does not report the name of the machine. Default: reports it. */
  readonly host?: false;
  /**
   * Labels that help to find the process: pod, region, version. At most 16, with keys of 32 and values of 128 characters. Default: none.
   */
  readonly labels?: Readonly<Record<string, string>>;
  /** The group: its clients see each other. Letters, digits, `_`, `.` and `-`, at most 64. Default: `default`. */
  readonly group?: string;
  /** The pause between two reports, in milliseconds, from 1 000 to 60 000; longer in large groups. Default: 5 000. */
  readonly everyMs?: number;
  /** Returns the text to report instead of a key in Redis, if the name reveals too much. Default: the key. */
  readonly redact?: (name: string) => string;
}

/** How a fleet is read. */
export interface FleetOptions {
  /** Cancels the reading: the call rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The group to read. Default: the group of this client's presence, else `default`. */
  readonly group?: string | undefined;
}

/** The settings of presence, with every default filled in. */
export interface PresenceSettings {
  readonly app: string | undefined;
  readonly host: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly group: string;
  readonly everyMs: number;
  readonly redact: ((name: string) => string) | undefined;
}

export const DEFAULT_GROUP = "default";
/** The period for a group of 300 clients. The size of the group is unknown until the first answer, which sets the period. */
export const UNKNOWN_GROUP_MS = 3_000;
/** Readers drop longer texts. */
export const LONGEST_APP = 64;
export const LONGEST_LABEL_KEY = 32;
export const LONGEST_LABEL = 128;
export const MOST_LABELS = 16;

/** Three beats must fit into the hour for which reports are kept. So a very large group can write more than a hundred times a second. */
export const LONGEST_BEAT_MS = 600_000;
/** A client may miss this many beats before it counts as gone. */
export const BEATS_MISSED = 3;

/** With this default a dead process is noticed within 15 seconds, and each client sends its server one small command every five seconds. */
const EVERY_MS = 5_000;
const SHORTEST_EVERY_MS = 1_000;
const LONGEST_EVERY_MS = 60_000;

const PRESENCE_OPTIONS = known<PresenceOptions>("setting", "presence", {
  app: true,
  host: true,
  labels: true,
  group: true,
  everyMs: true,
  redact: true,
});

const FLEET_OPTIONS = known<FleetOptions>("option", "fleet", { signal: true, group: true });

/**
 * @returns undefined: the client does not report
 * @throws TypeError, RangeError
 */
export function presenceSettings(presence: boolean | PresenceOptions): PresenceSettings | undefined {
  if (presence === false) return undefined;
  const options = presence === true ? {} : presence;
  checkObject("presence", options, "true or { app: 'billing' }");
  const { app, host, labels = {}, group = DEFAULT_GROUP, everyMs = EVERY_MS, redact, ...unknown } = options;
  refuseUnknown(PRESENCE_OPTIONS, unknown);
  if (app !== undefined) checkText("presence.app", app, LONGEST_APP);
  if (host !== undefined && host !== false) {
    throw new TypeError(`presence.host must be false or left out, got ${shown(host)}`);
  }
  checkLabels(labels);
  checkGroup("presence.group", group);
  if (redact !== undefined && typeof redact !== "function") {
    throw new TypeError(`presence.redact must be a function, got ${shown(redact)}`);
  }
  checkCount("presence.everyMs", everyMs, SHORTEST_EVERY_MS, LONGEST_EVERY_MS);
  return { app, host: host !== false, labels: { ...labels }, group, everyMs, redact };
}

/**
 * @returns the group; undefined when the options do not say
 * @throws TypeError, RangeError
 */
export function checkFleetOptions(options: FleetOptions): string | undefined {
  checkObject("options", options, '{ group: "default" }');
  const { signal, group, ...unknown } = options;
  refuseUnknown(FLEET_OPTIONS, unknown);
  checkSignal(signal);
  if (group !== undefined) checkGroup("group", group);
  return group;
}

/**
 * The group is the hash tag of its keys.
 * @throws TypeError, RangeError
 */
export function checkGroup(option: string, group: string): void {
  if (typeof group !== "string") throw new TypeError(`${option} must be a string, got ${shown(group)}`);
  if (/^[\w.-]{1,64}$/.test(group)) return;
  throw new RangeError(`${option} must be 1 to 64 letters, digits, "_", "." or "-", got ${shown(group)}`);
}

function checkLabels(labels: Readonly<Record<string, string>>): void {
  checkObject("presence.labels", labels, '{ region: "eu" }');
  const entries = Object.entries(labels);
  checkCount("the number of presence.labels", entries.length, 0, MOST_LABELS);
  for (const [key, value] of entries) {
    checkText("a key of presence.labels", key, LONGEST_LABEL_KEY);
    checkText(`presence.labels.${key}`, value, LONGEST_LABEL);
  }
}

function checkText(what: string, value: unknown, most: number): void {
  if (typeof value !== "string") throw new TypeError(`${what} must be a string, got ${shown(value)}`);
  if (value.length > most)
    throw new RangeError(`${what} must have at most ${most} characters, got ${value.length}`);
}
