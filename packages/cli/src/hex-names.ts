import { Option } from "commander";
import { mistake } from "./failure.js";

/** The option of commands that take names. */
export interface HexOption {
  readonly hex?: boolean;
}

/** Makes a new option for each program, because commander keeps the values that it has read. */
export function hexOption(): Option {
  return new Option(
    "--hex",
    "names are the hexadecimal digits of their bytes: for names that a shell can not pass",
  );
}

/** The name that was typed. @throws Failure if the digits are not those of a name in UTF-8 */
export function typedName(typed: string, { hex = false }: HexOption): string {
  if (!hex) return typed;
  const bytes = Buffer.from(typed, "hex");
  if (bytes.length * 2 !== typed.length)
    throw mistake(`--hex takes two hexadecimal digits for each byte of a name, got "${typed}"`);
  const name = bytes.toString();
  if (!Buffer.from(name).equals(bytes)) throw mistake(`--hex takes a name in UTF-8, got "${typed}"`);
  return name;
}
