import { type BranchOutInput, branchOut } from "./branch-out.js";
import { type DownloadInput, download } from "./download.js";
import { type LookInInput, lookIn } from "./look-in.js";
import { type OverrunInput, overrun } from "./overrun.js";
import { type ReEnterInput, reEnter } from "./re-enter.js";
import { type SellInput, sell } from "./sell.js";
import type { Task } from "./task.js";
import { type UpgradeInput, upgrade } from "./upgrade.js";
import { type VisitInput, visit } from "./visit.js";
import { type WriteAwakeInput, writeAwake } from "./write-awake.js";
import { type WriteLateInput, writeLate } from "./write-late.js";

/** What goes into each task and what comes out. */
interface TaskTypes {
  readonly sell: { readonly input: SellInput; readonly result: number };
  readonly visit: { readonly input: VisitInput; readonly result: boolean };
  readonly lookIn: { readonly input: LookInInput; readonly result: boolean };
  readonly overrun: { readonly input: OverrunInput; readonly result: number };
  readonly reEnter: { readonly input: ReEnterInput; readonly result: null };
  readonly branchOut: { readonly input: BranchOutInput; readonly result: null };
  readonly upgrade: { readonly input: UpgradeInput; readonly result: boolean };
  readonly writeAwake: { readonly input: WriteAwakeInput; readonly result: boolean };
  readonly download: { readonly input: DownloadInput; readonly result: null };
  readonly writeLate: { readonly input: WriteLateInput; readonly result: boolean };
}

export type TaskName = keyof TaskTypes;
export type InputOf<Name extends TaskName> = TaskTypes[Name]["input"];
export type ResultOf<Name extends TaskName> = TaskTypes[Name]["result"];

/** All that a worker can be asked to do, by a name that can travel to another process. */
export const tasks: { readonly [Name in TaskName]: Task<InputOf<Name>, ResultOf<Name>> } = {
  sell,
  visit,
  lookIn,
  overrun,
  reEnter,
  branchOut,
  upgrade,
  writeAwake,
  download,
  writeLate,
};
