import { startRedis } from "../servers/redis-server.js";
import { obey, tell } from "./orders.js";

/** A process that starts a server and does not stop it, to show that the server ends nevertheless. */
const server = await startRedis();
obey({ exit: () => process.exit(0) });
tell("ready", { pid: server.pid });
