import type { IncomingMessage, ServerResponse } from "node:http";
import type { Holdfast } from "../index.js";
import { Desk } from "./desk.js";
import { answerFetch, answerNode } from "./doors.js";
import { type InspectorOptions, inspectorSettings } from "./inspector-options.js";

/** A page that shows locks. All of it is one URL: mount it at any path. */
export interface Inspector {
  /**
   * Answers a request of Hono, Bun, Deno or Next.
   * @param native what `authorize` gets beside it
   */
  readonly fetch: (request: Request, native?: unknown) => Promise<Response>;
  /** Answers a request of node:http, Express, Koa, Fastify or Nest. Below the path where Express or Nest have mounted it `next` is called. */
  readonly node: (
    request: IncomingMessage,
    response: ServerResponse,
    next?: (error?: unknown) => void,
  ) => void;
  /** Ends all feeds. They end as well when the client is closed. Harmless twice. */
  readonly close: () => void;
}

/**
 * A page that shows which locks are held and waited for, by which programs, and frees them where `authorize` allows it. It looks at the locks as long as a page
 * is open, and sends nothing otherwise.
 * @throws TypeError without `authorize`, and for other wrong options; RangeError
 * @see docs/guide/inspector.md
 */
export function inspector(holdfast: Holdfast, options: InspectorOptions): Inspector {
  const settings = inspectorSettings(options);
  const { group } = settings;
  // Checks the name of the group, and sends nothing.
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

/** Whether the path goes on behind that of the page. Only frameworks that take the path of the mount off can tell. */
function isBelow({ url = "/", ...request }: IncomingMessage & { readonly originalUrl?: string }): boolean {
  const isMounted = request.originalUrl !== undefined && request.originalUrl !== url;
  return isMounted && !/^\/?(?:\?|$)/.test(url);
}
