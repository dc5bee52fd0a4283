import { once } from "node:events";
import type { RedisServer } from "./redis-server.js";

/** Each once. */
export interface Touched {
  /** Those that commands of scripts named. */
  readonly keys: readonly string[];
  /** Those to which was published or listened. */
  readonly channels: readonly string[];
}

export interface TouchedNames {
  /** What was touched since the last look. */
  read(): Promise<Touched>;
}

const END = "end of look";
/** Commands of scripts that name no key. */
const KEYLESS = new Set(["info", "time"]);
/** Commands of scripts whose arguments are keys, all of them. */
const ALL_KEYS = new Set(["del", "exists"]);

/** Looks over the server's shoulder (MONITOR). The server closes it. */
export async function touchedNames(server: RedisServer): Promise<TouchedNames> {
  const plain = server.client();
  const monitor = server.client({ monitor: true });
  const keys = new Set<string>();
  const channels = new Set<string>();
  monitor.on("monitor", (_, [command = "", ...args]: string[], source: string) => {
    const name = command.toLowerCase();
    if (args[0] === END) monitor.emit(END);
    else if (KEYLESS.has(name)) return;
    else if (name === "publish" || name === "subscribe") channels.add(args[0] ?? "");
    else if (source === "lua") for (const key of ALL_KEYS.has(name) ? args : args.slice(0, 1)) keys.add(key);
  });
  await once(monitor, "monitoring");
  return {
    async read() {
      const ended = once(monitor, END);
      await plain.echo(END);
      await ended;
      const seen = { keys: [...keys], channels: [...channels] };
      keys.clear();
      channels.clear();
      return seen;
    },
  };
}
