import { lacksRight } from "../failure-of.js";
import { within } from "../within.js";
import { type Check, type Finding, fail, skip } from "./check.js";
import { NotAllowed, NotKnown, type Scene } from "./scene.js";

/** A check and its findings. */
export interface Result {
  readonly id: string;
  readonly findings: readonly Finding[];
  /** Why there was nothing to check. */
  readonly moot?: string;
}

/** Longer than the longest check, whose parts have their own limits. */
const CHECK_WITHIN_MS = 40_000;

/**
 * Runs the first check alone, then all others at once. Yields their results in order, each as soon as it and all earlier results are there.
 */
export async function* runChecks(
  checks: readonly Check[],
  scene: Scene,
): AsyncGenerator<Result, void, undefined> {
  const [first, ...others] = checks;
  if (first !== undefined) yield await run(first, scene);
  const running = others.map((check) => run(check, scene));
  for (const result of running) yield await result;
}

/** Never rejects: a check that cannot run is a finding. */
async function run(check: Check, scene: Scene): Promise<Result> {
  const { id } = check;
  const moot = check.moot?.(scene);
  if (moot !== undefined) return { id, findings: [], moot };
  try {
    return { id, findings: await within(CHECK_WITHIN_MS, check.look(scene)) };
  } catch (error) {
    if (error instanceof NotAllowed || error instanceof NotKnown)
      return { id, findings: [skip(error.message)] };
    const message = error instanceof Error ? error.message : String(error);
    // If Redis refuses a script of holdfast, the error comes from the library, which already names the missing right.
    if (lacksRight(error)) return { id, findings: [skip(message)] };
    return {
      id,
      findings: [
        fail(`the check failed: ${message}`, {
          why: "What fails here may fail in programs too.",
          wanted: "Look at the other checks of this server.",
          doc: "docs/guide/servers.md#managed-services",
        }),
      ],
    };
  }
}
