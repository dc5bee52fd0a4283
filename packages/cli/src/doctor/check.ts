import type { Scene } from "./scene.js";

/** `skip`: the check was not possible. */
export type Level = "ok" | "warn" | "fail" | "skip";

/** What a check has found. */
export interface Finding {
  readonly level: Level;
  /** How it is. */
  readonly found: string;
  /** Why the result matters to locks. */
  readonly why?: string;
  /** What to do about it. */
  readonly wanted?: string;
  /** A page of the documentation, with an anchor. */
  readonly doc?: string;
}

/** Checks one thing that locks depend on. */
export interface Check {
  readonly id: string;
  /** Why there is nothing to check here; undefined if the check must run. Default: it must run. */
  moot?(scene: Scene): string | undefined;
  /** @throws NotAllowed and NotKnown, which mean that the check was not possible; any other error is a failure */
  look(scene: Scene): Promise<readonly Finding[]>;
}

/** The additional texts of a finding that is not `ok`. */
type Advice = Required<Pick<Finding, "why" | "wanted" | "doc">>;

export function ok(found: string): Finding {
  return { level: "ok", found };
}

export function warn(found: string, advice: Advice): Finding {
  return { level: "warn", found, ...advice };
}

export function fail(found: string, advice: Advice): Finding {
  return { level: "fail", found, ...advice };
}

export function skip(found: string): Finding {
  return { level: "skip", found };
}
