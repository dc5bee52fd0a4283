import { encoded } from "./encoded.js";

/** The placeholders of a template: `{host}`, `{labels.pod}`. */
export type LinkFields = Readonly<Record<string, string | number | null | undefined>>;

/**
 * The address that a template of `links` makes, with each value encoded. Undefined if a value is missing. Also undefined if the result is
 * not an address of the web, because a label must not become a script.
 */
export function linkOf(template: string | null, fields: LinkFields): string | undefined {
  if (template === null) return undefined;
  let complete = true;
  const address = template.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (value === undefined || value === null || value === "") complete = false;
    return encoded(String(value));
  });
  if (!complete || !/^https?:\/\//i.test(address) || !URL.canParse(address)) return undefined;
  const { protocol, href } = new URL(address);
  return protocol === "http:" || protocol === "https:" ? href : undefined;
}

/** The fields of a client, by the names that templates use. */
export function clientFields(client: {
  readonly id: string;
  readonly app: string;
  readonly host: string | null;
  readonly pid: number | null;
  readonly labels: Readonly<Record<string, string>>;
}): LinkFields {
  const { id, app, host, pid, labels } = client;
  const named = Object.entries(labels).map(([key, value]) => [`labels.${key}`, value] as const);
  return { ...Object.fromEntries(named), id, app, host, pid };
}
