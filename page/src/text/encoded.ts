/** A text as a part of a URL. Half a character, which has no code, is written as U+FFFD. */
export function encoded(text: string): string {
  return encodeURIComponent(text.replace(/\p{Cs}/gu, "\ufffd"));
}
