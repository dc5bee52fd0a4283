const GLOB = /^(?:[^*?[\\]|\\.)*$/su;

/** A glob that fits this name and no other. */
export function globOf(name: string): string {
  return name.replace(/[*?[\\]/g, "\\$&");
}

/** The one name that a glob fits; undefined where it fits several. */
export function exactName(pattern: string): string | undefined {
  return GLOB.test(pattern) ? pattern.replace(/\\(.)/gsu, "$1") : undefined;
}
