/** The first Redis version that supports everything the scripts use. */
const OLDEST_VERSION = [6, 2] as const;

/** @param version as the server reports it; null if it does not */
export function isTooOld(version: string | null): boolean {
  if (version === null) return false;
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [leastMajor, leastMinor] = OLDEST_VERSION;
  return major < leastMajor || (major === leastMajor && minor < leastMinor);
}
