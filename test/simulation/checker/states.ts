import type { SimServer } from "../world/sim-server.js";
import type { Belief } from "./checker.js";

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** The states that a run has been in: what is stored, without how long it lasts, and who believes what. */
export class States {
  readonly seen: Set<string> = new Set();

  add(servers: readonly SimServer[], believed: readonly Belief[]): void {
    let text = "";
    for (const { keys } of servers) {
      for (const [key, { value }] of Object.entries(keys)) text += `${key} ${JSON.stringify(value)}\n`;
    }
    for (const { label } of believed) text += `${label}\n`;
    this.seen.add(digestOf(text));
  }
}

/** 64 bits, as two numbers of 32: FNV-1a over the text, and over it once more from another start. */
function digestOf(text: string): string {
  return `${fnv(text, FNV_OFFSET).toString(36)}-${fnv(text, FNV_PRIME).toString(36)}`;
}

function fnv(text: string, start: number): number {
  let hash = start;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  return hash >>> 0;
}
