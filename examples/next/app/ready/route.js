// @ts-check
import { locks } from "../../lib/locks.js";

export const dynamic = "force-dynamic";

/** Tells the load balancer to use another process, from SIGTERM on. */
export function GET() {
  return new Response(null, { status: locks().holdfast.closing.aborted ? 503 : 200 });
}
