import { checkCount, checkObject, known, refuseUnknown } from "../checks.js";

/** How lock names are folded. */
export interface FoldNamesOptions {
  /** The most values, including `other`: from 2 to 2 000, the SDK's own limit. Default: 200. */
  readonly max?: number;
}

const FOLD_OPTIONS = known<FoldNamesOptions>("option", "foldNames", { max: true });
const MAX = 200;
/** The SDK of OpenTelemetry keeps this many series for an instrument. The function remembers the folded form of this many names. */
const MOST = 2_000;
const OTHER = "other";
/**
 * The parts of a name that identify one object of many: UUIDs, hexadecimal numbers of at least eight digits, decimal numbers of at least
 * two.
 */
const IDS = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{8,}|\d{2,}/gi;

/**
 * Makes few values of many lock names, for the attribute `holdfast.lock.name` of metrics: in `order:4711` and `order:4712` the number
 * becomes `*`, and both are `order:*`. After the first `max - 1` different values, the function returns `other` for each new value.
 *
 * @example
 * new HoldfastInstrumentation({ lockName: foldNames() });
 * @throws TypeError, RangeError
 */
export function foldNames(options: FoldNamesOptions = {}): (name: string) => string {
  checkObject("options", options, "{ max: 100 }");
  const { max = MAX, ...unknown } = options;
  refuseUnknown(FOLD_OPTIONS, unknown);
  checkCount("max", max, 2, MOST);
  const values = new Set<string>();
  const fold = (name: string) => {
    const value = name.replace(IDS, "*");
    if (values.has(value)) return value;
    if (values.size >= max - 1) return OTHER;
    values.add(value);
    return value;
  };
  /** The folded form of each name, which never changes. It is kept because a call needs it several times, and a search takes long. */
  const folded = new Map<string, string>();
  return (name) => {
    let value = folded.get(name);
    if (value !== undefined) return value;
    value = fold(name);
    if (folded.size >= MOST) folded.clear();
    folded.set(name, value);
    return value;
  };
}
