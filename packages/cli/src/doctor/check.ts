import type { Scene } from "./scene.js";

/** `skip`: it could not be looked at. */
export type Level = "ok" | "warn" | "fail" | "skip";

/** What a check has found. */
export interface Finding {
  readonly level: Level;
  /** How it is. */
  readonly found: string;
  /** Why that matters to locks. */
  readonly why?: string;
  /** What to do about it. */
  readonly wanted?: string;
  /** A page of the documentation, with an anchor. */
  readonly doc?: string;
}

/** Looks at one thing that locks depend on. */
export interface Check {
  readonly id: string;
  /** Why there is nothing to look at here; undefined where there is. Default: there is. */
  moot?(scene: Scene): string | undefined;
  /** @throws NotAllowed and NotKnown, which mean that it could not be looked at; all else is a failure */
  look(scene: Scene): Promise<readonly Finding[]>;
}

/** What a finding that is not `ok` says besides. */
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
