import type { Outcome, Scene } from "./scenes/scene.js";
import type { Stage } from "./stage/stage.js";
import type { Screen } from "./terminal/screen.js";
import { seconds } from "./terminal/units.js";

/** A scene that was played. */
export interface Played {
  readonly scene: Scene;
  readonly outcome: Outcome;
}

/** Narrower terminals get the numbers below the title instead of beside it. */
const SIDE_BY_SIDE_COLUMNS = 76;

/** True when every check of every scene was. */
export function allTrue(played: readonly Played[]): boolean {
  return played.every(({ outcome }) => isTrue(outcome));
}

function isTrue({ checks }: Outcome): boolean {
  return checks.length > 0 && checks.every(({ holds }) => holds);
}

function isWide({ columns }: Screen): boolean {
  return columns >= SIDE_BY_SIDE_COLUMNS;
}

/** What was measured, scene by scene. */
export function showSummary(screen: Screen, played: readonly Played[], tookMs: number): void {
  screen.heading("What was measured");
  const titleColumns = Math.max(...played.map(({ scene }) => scene.title.length));
  played.forEach(({ scene, outcome }, index) => {
    const start = `  ${screen.mark(isTrue(outcome))} ${String(index + 1).padStart(2)}  `;
    if (isWide(screen)) {
      const title = screen.paint("bold", scene.title.padEnd(titleColumns));
      screen.line(`${start}${title}  ${outcome.measured}`, " ".repeat(titleColumns + 9));
    } else {
      screen.line(`${start}${screen.paint("bold", scene.title)}`, "       ");
      screen.line(`       ${outcome.measured}`, "       ");
    }
  });
  const checks = played.flatMap(({ outcome }) => outcome.checks);
  const trueChecks = checks.filter(({ holds }) => holds);
  screen.line();
  screen.verdict(
    trueChecks.length === checks.length,
    `${trueChecks.length} of ${checks.length} checks in ${played.length} ${played.length === 1 ? "scene" : "scenes"} were true, after ${seconds(tookMs)}.`,
  );
}

/** Where a newcomer finds more. */
export function showWayOn(screen: Screen, kind: Stage["kind"]): void {
  const further =
    kind === "embedded"
      ? (["npm run demo -- --redis <url>", "the same with real processes"] as const)
      : (["docs/reference/", "all options, errors, events and keys"] as const);
  const ways = [
    ["README.md", "what is guaranteed and what is not, on one page"],
    ["docs/guide/", "first steps in your own program"],
    further,
  ] as const;
  const placeColumns = isWide(screen) ? Math.max(...ways.map(([place]) => place.length)) : 0;
  screen.line();
  screen.line(`  ${screen.paint("bold", "Where to go next")}`);
  for (const [place, what] of ways)
    screen.line(`  ${screen.paint("cyan", place.padEnd(placeColumns))}  ${what}`, "    ");
}
