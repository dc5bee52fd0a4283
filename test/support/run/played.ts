import { beforeEach } from "vitest";
import type { Topology } from "../servers/topologies.js";

/** Which client on which topology a test plays; scripts/servers-page.mjs makes a table of it. */
export interface Played {
  /** As in "ioredis 6". */
  readonly client: string;
  readonly topology: Topology;
  readonly what: "conformance" | "sharded conformance" | "kinds";
}

declare module "vitest" {
  interface TaskMeta {
    played?: Played;
  }
}

/** To be called in a `describe`: what its tests play. */
export function plays(played: Played): void {
  beforeEach(({ task }) => {
    task.meta.played = played;
  });
}
