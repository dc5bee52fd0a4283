import { glob } from "../glob.js";
import type { MemoryCommands } from "./command.js";
import { CommandError } from "./reply.js";

/** The version to imitate where versions of Redis differ. */
const VERSION = "7.2.0";
/** Any constant will do: no client compares it with the id of another server. */
const RUN_ID = "0".repeat(40);

const INFO = [
  `# Server\r\nredis_version:${VERSION}\r\nredis_mode:standalone\r\nrun_id:${RUN_ID}`,
  "# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction",
  "# Replication\r\nrole:master\r\n",
].join("\r\n");

export const serverCommands: MemoryCommands = {
  TIME: {
    arity: 1,
    effect: "none",
    run({ keyspace }) {
      const seconds = Math.floor(keyspace.timeMs / 1000);
      return [String(seconds), String((keyspace.timeMs - seconds * 1000) * 1000)];
    },
  },
  INFO: {
    arity: -1,
    effect: "none",
    run: () => INFO,
  },
  PUBLISH: {
    arity: 3,
    effect: "none",
    run: (server, channel, message) => server.publish(channel, message),
  },
  PUBSUB: {
    arity: -2,
    effect: "none",
    run(server, subcommand, ...args) {
      switch (subcommand?.toUpperCase()) {
        case "NUMSUB":
          return args.flatMap((channel) => [channel, server.listeners(channel)]);
        case "CHANNELS": {
          const [pattern = "*", ...more] = args;
          if (more.length > 0)
            throw new CommandError("ERR wrong number of arguments for 'pubsub|channels' command");
          return [...server.channels()].filter(glob(pattern));
        }
        default:
          throw new CommandError(`ERR unknown subcommand '${subcommand}'`);
      }
    },
  },
};
