import { isResponse } from "./answer.js";

/** What the sender of a request may do: nothing, look, or also free locks. */
export type Role = "none" | "read" | "operate";

/** The answer of `authorize`. */
export interface Access {
  readonly role: Role;
  /** Names the person in events and log lines. The limits of viewers and frees count by it. */
  readonly actor?: string;
  /**
   * True: the request has a secret header, such as `Authorization: Bearer`, that browsers never add to a request of another page. A free
   * then needs no `Sec-Fetch-Site` or `Origin`, which command lines do not send. Default: false.
   */
  readonly byToken?: boolean;
}

/**
 * Decides about a request.
 * @param native the framework's request, with its data about the user
 * @returns the access, or a response to send unchanged: a redirect to the login
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

/** Where browsers see the page: by the option `origin`, else by `Host`. */
export interface PageOrigin {
  readonly origin: string;
  readonly isNamed: boolean;
}

/**
 * Whether a request that changes something comes from the page itself. On https and localhost, browsers name the relation of the sending
 * page in `Sec-Fetch-Site`. Elsewhere `Origin` must be the page's origin. Both must agree. But a proxy may have rewritten `Host`, so an
 * `Origin` is surely foreign only if the option `origin` names the right origin. A request without both headers does not come from a
 * present browser, and only a token proves it.
 */
export function isOfPage(headers: Headers, page: PageOrigin, { byToken }: Admitted): boolean {
  const site = headers.get("sec-fetch-site");
  const origin = headers.get("origin");
  if (site === null) return origin === null ? byToken : origin === page.origin;
  if (site !== "same-origin") return false;
  return origin === null || (page.isNamed ? origin === page.origin : origin !== "null");
}
