/** A text as a part of a URL. Half of a surrogate pair, which has no encoding, is written as U+FFFD. */
export function encoded(text: string): string {
  return encodeURIComponent(text.replace(/\p{Cs}/gu, "\ufffd"));
}
