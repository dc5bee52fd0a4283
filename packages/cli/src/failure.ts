import { exitCodes } from "./exit-codes.js";

/** A command cannot do its work. The reason is printed unchanged, without a stack. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly exitCode: number;

  /** @param message a sentence without "holdfast: " before it */
  constructor(exitCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** The command line is wrong. */
export function mistake(message: string): Failure {
  return new Failure(exitCodes.usage, message);
}
