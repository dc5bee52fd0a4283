// @ts-check
/** A REPL with two clients on a server inside the process. `await` works, and time is real. */
import { start } from "node:repl";
import * as holdfast from "holdfast";
import { MemoryServer, memoryDriver } from "holdfast/memory";

const server = new MemoryServer();
const ours = new holdfast.Holdfast(memoryDriver(server));
const theirs = new holdfast.Holdfast(memoryDriver(server));

console.log(`ours and theirs are two clients that stand for two processes, server is their Redis. For example:
  lease = await ours.getLock("order:42").lock()
  await theirs.getLock("order:42").tryLock()        // null
  await ours.inspect("order:42")
  server.goAway()                                   // and half a minute later lease.state is "lost"
  .exit`);
const repl = start({ prompt: "holdfast> " });
Object.assign(repl.context, holdfast, { server, ours, theirs });
repl.once("exit", () => void Promise.all([ours.close(), theirs.close()]));
