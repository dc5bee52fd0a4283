import { join } from "node:path";
import { findPostgres } from "../../../scripts/setup-databases.mjs";
import { type DatabaseServer, startDatabase } from "./database-process.js";

/** The transaction of a stopped process ends so soon after its last statement. */
const IDLE_TRANSACTIONS_END = "idle_in_transaction_session_timeout=3s";

/** Starts an empty PostgreSQL on a free port of 127.0.0.1, where "postgres" needs no password. */
export function startPostgres(): Promise<DatabaseServer> {
  const programs = findPostgres();
  if (programs === undefined) throw new Error("there is no PostgreSQL: run `npm run test:databases`");
  const data = (folder: string) => join(folder, "data");
  const own = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"];
  return startDatabase({
    name: "postgres",
    install: (folder) => [programs.install, "-D", data(folder), ...own],
    serve: (folder, port) => [
      programs.server,
      ...["-D", data(folder), "-h", "127.0.0.1", "-p", String(port)],
      ...["unix_socket_directories=", "fsync=off", IDLE_TRANSACTIONS_END].flatMap((setting) => [
        "-c",
        setting,
      ]),
    ],
    ready: /database system is ready to accept connections/,
    portTaken: /could not bind/,
    endsOn: "SIGQUIT",
  });
}
