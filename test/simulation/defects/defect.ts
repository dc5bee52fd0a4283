import type { TopologyName } from "../world/topology.js";

/** Where a piece of the sources is other than it should be. */
export interface Edit {
  /** Below the root of the repository: TypeScript of `src/`, or a Lua script. */
  readonly file: string;
  /** What stands there, once in the file. */
  readonly find: string;
  readonly replace: string;
}

/** A defect that is planted to see whether the simulator finds it. */
export interface Defect {
  readonly name: string;
  /** What is broken for a user. */
  readonly promise: string;
  /** By which interleaving or fault it shows. */
  readonly shows: string;
  /** Where it comes from: a row of the track record, a change that was made, or the specification of the simulator. */
  readonly origin?: string;
  /** The kinds of locks that it is about; all of them without. */
  readonly kinds?: readonly string[];
  /** The topologies in which it shows; all of them, most often one server, without. */
  readonly topologies?: readonly TopologyName[];
  readonly edits: readonly Edit[];
}

/** @throws Error when the text to replace is not there exactly once */
export function edited(source: string, { file, find, replace }: Edit): string {
  const at = source.indexOf(find);
  if (find === "" || at < 0) throw new Error(`${file} has no ${JSON.stringify(find)}`);
  if (source.indexOf(find, at + 1) >= 0)
    throw new Error(`${file} has ${JSON.stringify(find)} more than once`);
  return source.slice(0, at) + replace + source.slice(at + find.length);
}
