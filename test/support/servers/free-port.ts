import { createServer } from "node:net";

/** Below the ports that the kernel gives to outgoing connections, so that none of these takes one of ours. */
const FIRST_PORT = 12_000;
const LAST_PORT = 32_000;
const MAX_TRIES = 100;

/** A TCP port on 127.0.0.1 that nobody listens on just now. Somebody else may still be faster: check. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port between ${FIRST_PORT} and ${LAST_PORT} after ${MAX_TRIES} tries`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
