import { isResponse } from "./answer.js";

/** What the sender of a request may do: nothing, look, or also free locks. */
export type Role = "none" | "read" | "operate";

/** What `authorize` answers. */
export interface Access {
  readonly role: Role;
  /** Names the person in events and log lines. Viewers and frees are counted by it. */
  readonly actor?: string;
  /**
   * True: the request proves itself by a secret header that no browser adds to a request of another page, as `Authorization: Bearer`. A free
   * is then taken without `Sec-Fetch-Site` and `Origin`, as command lines send it. Default: false.
   */
  readonly byToken?: boolean;
}

/**
 * Decides about a request.
 * @param native the request of the framework, where it keeps what it knows about the user
 * @returns the access, or a response that is sent as it is: a redirect to the login
 */
export type Authorize = (request: Request, native: unknown) => Access | Response | Promise<Access | Response>;

/** A visitor that may at least look. */
export interface Admitted {
  readonly role: Exclude<Role, "none">;
  readonly actor: string | null;
  readonly byToken: boolean;
}

const LONGEST_ACTOR = 200;

/** Any value that is not a role counts as `none`, and so does an `authorize` that throws: a mistake there must not open the page. */
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

/** Where browsers see the page: as the option `origin` names it, else as `Host` says. */
export interface PageOrigin {
  readonly origin: string;
  readonly isNamed: boolean;
}

/**
 * Whether a request that changes something comes from the page itself. Browsers name the relation of the page that sends it in
 * `Sec-Fetch-Site`, to https and to localhost; elsewhere `Origin` has to be that of the page. Both have to agree, but a proxy may have
 * rewritten `Host`, so that an `Origin` is foreign for certain only where the option `origin` names the right one. Without both headers
 * the request comes from no browser of today, and only a token proves it.
 */
export function isOfPage(headers: Headers, page: PageOrigin, { byToken }: Admitted): boolean {
  const site = headers.get("sec-fetch-site");
  const origin = headers.get("origin");
  if (site === null) return origin === null ? byToken : origin === page.origin;
  if (site !== "same-origin") return false;
  return origin === null || (page.isNamed ? origin === page.origin : origin !== "null");
}
