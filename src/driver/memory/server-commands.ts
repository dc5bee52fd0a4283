import type { Commands } from "./command.js";

/** The version whose behaviour is imitated where versions differ. */
const VERSION = "7.2.0";

export const serverCommands: Commands = {
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
    run: () => `# Server\r\nredis_version:${VERSION}\r\nredis_mode:standalone\r\n`,
  },
  PUBLISH: {
    arity: 3,
    effect: "none",
    run: (server, channel, message) => server.publish(channel, message),
  },
};
