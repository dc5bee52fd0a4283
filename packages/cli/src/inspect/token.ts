import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { mistake } from "../failure.js";

/**
 * The secret that opens the page. It is in the fragment of the URL, which browsers do not send, and in a header of each request of the
 * page.
 */
export interface Token {
  readonly text: string;
  /** A warning about the token. */
  readonly warning?: string;
}

const BYTES = 32;
/** Only characters that need no escape in a URL or a header; 32 of them hold 192 bits in base64. */
const FORM = /^[\w.~+/=-]{32,512}$/;
const OF_OTHERS = 0o077;

/** A new token, which is valid until the process ends. */
export function newToken(): Token {
  return { text: randomBytes(BYTES).toString("base64url") };
}

/** @throws Failure */
export function readToken(file: string): Token {
  try {
    const text = readFileSync(file, "utf8").trim();
    const isOpen = (statSync(file).mode & OF_OTHERS) !== 0;
    if (!FORM.test(text)) {
      throw mistake(
        `--token-file: ${file} must have 32 to 512 letters, digits, or -_.~+/= in one line, as \`openssl rand -base64 32\` makes them`,
      );
    }
    const warning = `--token-file: other users can read ${file}: chmod 600`;
    return { text, ...(isOpen && { warning }) };
  } catch (error) {
    if (error instanceof Error && "code" in error) throw mistake(`--token-file: ${error.message}`);
    throw error;
  }
}

/** Whether a request has the token. The duration of the test reveals nothing about the token. */
export function hasToken(headers: Headers, { text }: Token): boolean {
  const [, given = ""] = /^Bearer (\S+)$/i.exec(headers.get("authorization") ?? "") ?? [];
  return timingSafeEqual(digestOf(given), digestOf(text));
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
