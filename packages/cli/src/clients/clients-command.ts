import type { Command } from "commander";
import type { ClientPresence, Fleet } from "holdfast";
import { type Act, type CommonOptions, type Context, command } from "../command.js";
import { withConnection } from "../connection/connect.js";
import { tellDuration } from "../duration.js";
import { exitCodes } from "../exit-codes.js";
import { type Column, writeTable } from "../text/table.js";

/** `holdfast clients`: lists the clients with presence, first those that are gone. */
export function clientsCommand(act: Act): Command {
  return command("clients", "the programs with presence, and what they hold and wait for").action(
    act(clients),
  );
}

const columns = (atMs: number): readonly Column<ClientPresence>[] => [
  { head: "APP", text: ({ app }) => app || "-", cuts: "end", style: () => "bold" },
  { head: "HOST", text: ({ host }) => host ?? "-", cuts: "middle" },
  { head: "PID", text: ({ pid }) => String(pid ?? "-"), alignsRight: true },
  {
    head: "LAST SEEN",
    text: ({ state, lastSeenMs }) => `${tellDuration(lastSeenMs)} ago${state === "gone" ? ", gone" : ""}`,
    shorter: [({ state, lastSeenMs }) => (state === "gone" ? `gone ${tellDuration(lastSeenMs)}` : "there")],
    style: ({ state }) => (state === "gone" ? "yellow" : undefined),
  },
  {
    head: "UP",
    text: ({ startedMs }) => (startedMs === null ? "-" : tellDuration(atMs - startedMs)),
    alignsRight: true,
    leftOut: 3,
  },
  { head: "HOLDS", text: ({ holds, more }) => String(holds.length + more.holds), alignsRight: true },
  { head: "WAITS", text: ({ waits, more }) => String(waits.length + more.waits), alignsRight: true },
  { head: "LIB", text: ({ lib }) => lib || "-", cuts: "end", leftOut: 2 },
  { head: "RUNTIME", text: ({ runtime }) => runtime || "-", cuts: "end", leftOut: 1 },
  {
    head: "LABELS",
    text: ({ labels }) =>
      Object.entries(labels)
        .map((entry) => entry.join("="))
        .join(" "),
    cuts: "end",
    leftOut: 4,
  },
];

async function clients(context: Context, options: CommonOptions): Promise<number> {
  const { output } = context;
  return withConnection(context, options, async ({ holdfast }, { group }) => {
    const fleet = await holdfast.fleet({ group });
    const goneFirst = fleet.clients.toSorted(
      (a, b) => Number(b.state === "gone") - Number(a.state === "gone") || b.lastSeenMs - a.lastSeenMs,
    );
    if (output.isJson) for (const client of goneFirst) output.json(client);
    else if (goneFirst.length > 0) writeTable(output, columns(fleet.atMs), goneFirst);
    output.say(tellFleet(fleet, group));
    if (fleet.truncated) output.say("there are more clients than holdfast reads");
    return exitCodes.ok;
  });
}

function tellFleet({ clients: all }: Fleet, group: string): string {
  const gone = all.filter(({ state }) => state === "gone").length;
  if (all.length === 0)
    return `no client of the group "${group}" has presence: programs turn it on with the option presence`;
  const count = all.length === 1 ? "1 client" : `${all.length} clients`;
  return `${count} in the group "${group}"${gone === 0 ? "" : `, ${gone} gone`}`;
}
