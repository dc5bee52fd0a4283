import { isResponse } from "./answer.js";

/** What the sender of a request may do: nothing, look, or also free locks. */
export type Role = "none" | "read" | "operate";

/** The answer of `authorize`. */
export interface Access {
  readonly role: Role;
  /** Names the person in events and log lines. Open pages and forced frees are limited for each actor. */
  readonly actor?: string;
  /**
   * True: the request has a secret header, such as `Authorization: Bearer`, that browsers never add to a request of another page. A forced
   * free then needs no `Sec-Fetch-Site` or `Origin`, which command-line clients do not send. Default: false.
   */
  readonly byToken?: boolean;
}

/**
 * Decides what the sender of a request may do.
 * @param native the framework's request, with its data about the user
 * @returns the access, or a response to send unchanged, such as a redirect to the login
 */
export type Authorize = (request: Request, native: unknown) => Access | Response | Promise<Access | Response>;

/** A visitor that may at least read. */
export interface Admitted {
  readonly role: Exclude<Role, "none">;
  readonly actor: string | null;
  readonly byToken: boolean;
}

const LONGEST_ACTOR = 200;

/** Any value that is not a role counts as `none`, and so does an error of `authorize`: a mistake there must not open the page. */
export async function admit(
  authorize: Authorize,
  request: Request,
  native: unknown,
): Promise<Admitted | Response | undefined> {
  try {
    const access = await authorize(request, native);
    if (isResponse(access)) return access;
    const { role, actor, byToken } = access;
    if (role !== "read" && role !== "operate") return undefined;
    const name = typeof actor === "string" && actor !== "" ? actor.slice(0, LONGEST_ACTOR) : null;
    return { role, actor: name, byToken: byToken === true };
  } catch {
    return undefined;
  }
}

/** The origin at which browsers see the page: from the option `origin`, or else from the header `Host`. */
export interface PageOrigin {
  readonly origin: string;
  readonly isNamed: boolean;
}

/**
 * Whether a request that changes something comes from the page itself. On https and localhost, browsers send `Sec-Fetch-Site`, which must
 * be `same-origin`. Elsewhere `Origin` must be the page's origin. If a request has both headers, both are checked. But a proxy may have
 * rewritten `Host`, so a different `Origin` is refused only if the option `origin` names the right one. Current browsers send at least one
 * of the headers: a request without them needs a token.
 */
export function isOfPage(headers: Headers, page: PageOrigin, { byToken }: Admitted): boolean {
  const site = headers.get("sec-fetch-site");
  const origin = headers.get("origin");
  if (site === null) return origin === null ? byToken : origin === page.origin;
  if (site !== "same-origin") return false;
  return origin === null || (page.isNamed ? origin === page.origin : origin !== "null");
}
