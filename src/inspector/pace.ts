/** The numbers of one look at all locks. */
export interface Load {
  readonly locks: number;
  readonly clients: number;
  /** The duration of the look, from the first command to the last answer. */
  readonly tookMs: number;
}

/** Locks that one command reads. */
const LOCKS_A_COMMAND = 100;
/** Clients whose reports one command reads. */
const CLIENTS_A_COMMAND = 100;
/** Clients whose ids one command reads. The command reads a page of a thousand ids, the first of which is the last of the previous page. */
const IDS_A_COMMAND = 999;
/** In a small fleet, where a look takes six commands, a look may start about every second. */
const LEAST_COMMANDS_A_SECOND = 5;
/** Looks take at most this share of the server's time. */
const SHARE = 0.01;

/** The server's time for parts of a look, in milliseconds: twice the most that was measured on Redis 7.0. */
const MS_A_COMMAND = 0.1;
const MS_A_LOCK = 0.02;
const MS_A_CLIENT = 0.02;

/**
 * How long to wait from one look to the next, in milliseconds: at least as long as the option asks. The server spends at most a hundredth
 * of its time on looks, and gets at most one command a second for each hundred locks.
 */
export function intervalMs({ locks, clients, tookMs }: Load, refreshMs: number): number {
  const forIds = Math.max(1, Math.ceil(clients / IDS_A_COMMAND));
  // The fleet is read twice, for its own list and for the names of locks; each time all ids are read before the reports of the clients.
  const forFleet = 2 * (forIds + Math.ceil(clients / CLIENTS_A_COMMAND));
  const commands = forFleet + 1 + Math.ceil(locks / LOCKS_A_COMMAND);
  const aSecond = Math.max(LEAST_COMMANDS_A_SECOND, locks / LOCKS_A_COMMAND);
  const serverMs = commands * MS_A_COMMAND + locks * MS_A_LOCK + 2 * clients * MS_A_CLIENT;
  return Math.max(refreshMs, (commands / aSecond) * 1_000, Math.min(tookMs, serverMs) / SHARE);
}
