import { shrink } from "../campaign/shrink.js";
import { EXCEPTIONS, type ExceptionName } from "../checker/exceptions.js";
import type { Choices } from "../chooser/chooser.js";
import { recordedChooser } from "../chooser/recorded.js";
import { seededChooser } from "../chooser/seeded.js";
import { isShown, keep, shows } from "./shown.js";
import { WHERE } from "./where.js";

/** So much smaller is small enough. */
const MOST_TRIES = 600;

/**
 * Looks for a schedule for each exception that has none, or whose schedule no longer shows it, shrinks it and keeps it.
 *
 * @param args the first seed, how many, and a part of a name
 * @returns the exit code
 */
export async function findExceptions([
  firstSeed = "1",
  seeds = "1500",
  part = "",
]: readonly string[]): Promise<number> {
  let missing = 0;
  for (const exception of EXCEPTIONS) {
    if (!exception.includes(part) || (await isShown(exception))) continue;
    const seed = await find(exception, Number(firstSeed), Number(seeds));
    if (seed === undefined) missing += 1;
    const found = seed === undefined ? `not seen in ${seeds} schedules` : `kept, of seed ${seed}`;
    process.stdout.write(`${exception}: ${found}\n`);
  }
  return missing === 0 ? 0 : 1;
}

/** @returns the seed of the schedule that is kept now */
async function find(exception: ExceptionName, firstSeed: number, seeds: number): Promise<number | undefined> {
  const where = WHERE[exception];
  for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
    const chooser = seededChooser(seed);
    if (!(await shows(exception, where, chooser))) continue;
    let tries = 0;
    const isOver = () => {
      tries += 1;
      return tries > MOST_TRIES;
    };
    const stillShows = (choices: Choices) => shows(exception, where, recordedChooser(choices));
    const shrunk = await shrink(chooser.made, stillShows, { isOver });
    keep({ exception, ...where, choices: shrunk?.choices ?? chooser.made });
    return seed;
  }
  return undefined;
}
