// @ts-check

/** Next calls it once when a server starts. */
export async function register() {
  // Not on the edge, where there are neither signals nor sockets.
  if (process.env["NEXT_RUNTIME"] === "nodejs") {
    const { closeAtEnd } = await import("./lib/close-at-end.js");
    closeAtEnd();
  }
}
