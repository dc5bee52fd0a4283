const LONGEST = 1_000;
const REPEATS = /(.)\1{999,}/gs;

/** The same value, but names that are long as one character is repeated say how often it is: messages are to be read by somebody. */
export function brief(value: unknown): unknown {
  if (typeof value === "string") return briefText(value);
  if (Array.isArray(value)) return value.map(brief);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [briefText(name), brief(item)]));
}

export function briefText(text: string): string {
  if (text.length < LONGEST) return text;
  return text.replace(REPEATS, (repeats, one) => `<${repeats.length} times ${one}>`);
}
