import type { Redis } from "ioredis";
import { type ScriptName, sources } from "../all-scripts.js";

/** Which scripts have reached a server since somebody began to look. */
export interface ScriptArrivals {
  of(script: ScriptName): number;
  readonly all: number;
  stop(): void;
}

const names = new Map<string, string>();
for (const { name, sha1, lua } of Object.values(sources)) names.set(sha1, name).set(lua, name);

/** MONITOR writes a line break, and a backslash, as two characters. */
function plain(script: string): string {
  return script.replace(/\\([n\\])/g, (_, character: string) => (character === "n" ? "\n" : character));
}

/** Looks over the server's shoulder (MONITOR), as what a client has sent may arrive long after. */
export async function watchArrivals(client: Redis): Promise<ScriptArrivals> {
  const monitor = await client.monitor();
  const arrived: string[] = [];
  monitor.on("error", () => undefined);
  monitor.on("monitor", (_, [command = "", script = ""]: string[]) => {
    if (/^eval(?:sha)?$/i.test(command))
      arrived.push(names.get(script) ?? names.get(plain(script)) ?? "another");
  });
  return {
    of: (script) => arrived.filter((name) => name === script).length,
    get all() {
      return arrived.length;
    },
    stop: () => monitor.disconnect(),
  };
}
