import type { Choices, Chooser } from "./chooser.js";
import { recording } from "./recording.js";

/**
 * A chooser that repeats recorded choices. A number that is too large for its question is taken modulo the count, and 0 stands
 * for what was not recorded: so each list of numbers is one run, whatever was cut out of it.
 */
export function recordedChooser(choices: Choices): Chooser {
  return recording((name) => {
    const recorded = Object.hasOwn(choices, name) ? (choices[name] ?? []) : [];
    let at = 0;
    return (count) => {
      const choice = recorded[at] ?? 0;
      at += 1;
      return choice % count;
    };
  });
}
