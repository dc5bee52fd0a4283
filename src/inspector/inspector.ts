import type { IncomingMessage, ServerResponse } from "node:http";
import type { Holdfast } from "../index.js";
import { Desk } from "./desk.js";
import { answerFetch, answerNode } from "./doors.js";
import { type InspectorOptions, inspectorSettings } from "./inspector-options.js";

/** A page that shows locks. It needs only one URL: mount it at any path. */
export interface Inspector {
  /**
   * Answers a request of Hono, Bun, Deno or Next.
   * @param native the second argument of `authorize`
   * @example const response = await locks.fetch(request);
   */
  readonly fetch: (request: Request, native?: unknown) => Promise<Response>;
  /**
   * Answers a request of node:http, Express, Koa, Fastify or Nest. Calls `next` for paths below the path where Express or Nest have mounted
   * the page.
   * @example createServer(locks.node).listen(port);
   */
  readonly node: (
    request: IncomingMessage,
    response: ServerResponse,
    next?: (error?: unknown) => void,
  ) => void;
  /**
   * Ends all feeds. The feeds also end when the client is closed. Harmless twice.
   * @example locks.close();
   */
  readonly close: () => void;
}

/**
 * A page that shows which locks are held and waited for, by which programs, and frees them if `authorize` allows it. It reads the locks
 * while a page is open, and otherwise sends nothing.
 * @throws TypeError without `authorize`, and for other wrong options; RangeError
 * @see docs/guide/inspector.md
 * @example const locks = inspector(holdfast, { authorize: () => ({ role: "read" }) });
 */
export function inspector(holdfast: Holdfast, options: InspectorOptions): Inspector {
  const settings = inspectorSettings(options);
  const { group } = settings;
  // Checks the name of the group, and sends no command.
  holdfast.locks(group === undefined ? {} : { group });
  const desk = new Desk(holdfast, settings);
  return {
    fetch: (request, native) => answerFetch(desk, request, native),
    node(request, response, next) {
      if (next !== undefined && isBelow(request)) return next();
      answerNode(desk, request, response).catch(() => response.destroy());
    },
    close: () => desk.close(),
  };
}

/**
 * Whether the request is for a path below the page's path. holdfast can tell only if the framework removes the path of the mount from
 * `url`.
 */
function isBelow({ url = "/", ...request }: IncomingMessage & { readonly originalUrl?: string }): boolean {
  const isMounted = request.originalUrl !== undefined && request.originalUrl !== url;
  return isMounted && !/^\/?(?:\?|$)/.test(url);
}
