import type { Mutant } from "./mutants/mutant.js";

/** Mutants that nothing can find, with the reason. */
export interface Survivor {
  /** The id of a mutant, in which `*` stands for anything. */
  readonly id: string;
  /** A part of the line as it becomes, where the id alone would name too many. */
  readonly line?: string;
  readonly why: "equivalent" | "only cost" | "only text" | "documented tolerance";
  readonly because: string;
}

export const survivors: readonly Survivor[] = [];

export function explains({ id, line = "" }: Survivor, mutant: Mutant): boolean {
  const parts = id.split("*").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(mutant.id) && mutant.line.includes(line);
}
