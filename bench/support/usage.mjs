import { libraries, scenarios } from "./catalogue.mjs";
import { OPTIONS } from "./options.mjs";

const COLUMN = 27;

/**
 * What can be asked for, without anything of npm.
 *
 * @param {readonly (readonly [option: string, about: string])[]} further options, of who starts this
 */
export function usage(further) {
  const own = Object.entries(OPTIONS).map(([name, option]) => {
    return /** @type {const} */ ([`--${name}${"value" in option ? ` ${option.value}` : ""}`, option.about]);
  });
  const lines = [...own, ...further].map(([option, about]) => `  ${option.padEnd(COLUMN)}${about}`);
  const contestants = new Set(scenarios.flatMap((one) => one.contestants(libraries)).map(({ name }) => name));
  return [
    "Measures libraries in scenarios, each run in processes of its own, and says what they cost.",
    "",
    "  npm run bench [-- options]",
    "",
    ...lines,
    "",
    "Scenarios:",
    ...scenarios.map(({ name, title }) => `  ${name.padEnd(COLUMN)}${title}`),
    "",
    "Libraries:",
    ...[...contestants].map((name) => `  ${name}`),
  ].join("\n");
}
