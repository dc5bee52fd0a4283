import { join } from "node:path";
import { findMariadb } from "../../../scripts/setup-databases.mjs";
import { type DatabaseServer, startDatabase } from "./database-process.js";

/** The transaction of a stopped process ends so many seconds after its last statement. */
const IDLE_TRANSACTION_S = 3;

/** Starts an empty MariaDB on a free port of 127.0.0.1, where "root" needs no password. */
export function startMariadb(): Promise<DatabaseServer> {
  const programs = findMariadb();
  if (programs === undefined) throw new Error("there is no MariaDB: run `npm run test:databases`");
  const own = (folder: string) => ["--no-defaults", `--datadir=${join(folder, "data")}`];
  return startDatabase({
    name: "mariadb",
    install: (folder) => [
      programs.install,
      ...own(folder),
      "--auth-root-authentication-method=normal",
      "--skip-test-db",
    ],
    serve: (folder, port) => [
      programs.server,
      ...own(folder),
      `--port=${port}`,
      "--bind-address=127.0.0.1",
      `--socket=${join(folder, "socket")}`,
      `--pid-file=${join(folder, "pid")}`,
      `--idle-transaction-timeout=${IDLE_TRANSACTION_S}`,
      "--innodb-flush-log-at-trx-commit=2",
    ],
    ready: /ready for connections/,
    portTaken: /Can't start server: Bind on TCP\/IP port/,
    // Its files are of no use any more.
    endsOn: "SIGKILL",
  });
}
