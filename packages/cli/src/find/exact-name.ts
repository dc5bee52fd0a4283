const GLOB = /^(?:[^*?[\\]|\\.)*$/su;

/** A glob that matches only this name. */
export function globOf(name: string): string {
  return name.replace(/[*?[\\]/g, "\\$&");
}

/** The only name that a glob matches; undefined if it matches several. */
export function exactName(pattern: string): string | undefined {
  return GLOB.test(pattern) ? pattern.replace(/\\(.)/gsu, "$1") : undefined;
}
