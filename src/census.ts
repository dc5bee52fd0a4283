import type { Client } from "./client.js";

/** How many entries the tables of a client's services have. At rest only channels linger, for a while. */
export function censusOf(client: Client): Record<string, number> {
  const { threads, permits, inUse, lines, subscriptions, groups, admission, commands, signsOfLife } = client;
  return {
    stays: [...threads.holdings()].length,
    "running bodies": threads.running.size,
    permits: permits.all().length,
    "bodies with permits": inUse.size,
    "in lines": lines.size,
    channels: subscriptions.size,
    "forming groups": groups.size,
    lanes: admission.size,
    "under way": commands.busy ? 1 : 0,
    "in queues": signsOfLife.size,
  };
}
