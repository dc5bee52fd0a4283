/** Two names that a mapper is unlikely to treat specially. */
const PROBES = ["holdfast-probe", "x:7"] as const;

/**
 * The reverse of a name mapper that puts the same prefix before each name. Any other mapper cannot be reversed, and the name is then the
 * key.
 * @returns a function from key to name
 */
export function unmapping(nameMapper: (name: string) => string): (key: string) => string {
  const prefix = prefixOf(nameMapper);
  if (prefix === undefined || prefix === "") return (key) => key;
  return (key) => {
    const name = key.startsWith(prefix) ? key.slice(prefix.length) : "";
    return name !== "" && attempt(nameMapper, name) === key ? name : key;
  };
}

function prefixOf(nameMapper: (name: string) => string): string | undefined {
  const [first, second] = PROBES.map((probe) => {
    const key = attempt(nameMapper, probe);
    return key?.endsWith(probe) ? key.slice(0, key.length - probe.length) : undefined;
  });
  return first === second ? first : undefined;
}

/** A mapper may reject a name that the user's programs never use. */
function attempt(nameMapper: (name: string) => string, name: string): string | undefined {
  try {
    const key: unknown = nameMapper(name);
    return typeof key === "string" ? key : undefined;
  } catch {
    return undefined;
  }
}
