import { Option } from "commander";
import { mistake } from "./failure.js";

/** The option of commands that take names. */
export interface HexOption {
  readonly hex?: boolean;
}

/** Made anew for each program, as commander keeps what it has read. */
export function hexOption(): Option {
  return new Option(
    "--hex",
    "names are given as the hexadecimal digits of their bytes, as no shell takes all of them",
  );
}

/** The name that was typed. @throws Failure for what are no digits of a name in UTF-8 */
export function typedName(typed: string, { hex = false }: HexOption): string {
  if (!hex) return typed;
  const bytes = Buffer.from(typed, "hex");
  if (bytes.length * 2 !== typed.length)
    throw mistake(`--hex wants two hexadecimal digits for each byte of a name, got "${typed}"`);
  const name = bytes.toString();
  if (!Buffer.from(name).equals(bytes)) throw mistake(`--hex wants a name in UTF-8, got "${typed}"`);
  return name;
}
