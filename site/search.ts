/**
 * Splits a text into what the search looks up: at spaces and punctuation as usual, and Chinese, which has no spaces, into words.
 * VitePress sends the text of this function to the browser, so it may use nothing from around it.
 */
export function tokenize(text: string): string[] {
  const segmenter = new Intl.Segmenter("zh", { granularity: "word" });
  return text
    .split(/[\n\r\p{Z}\p{P}]+/u)
    .flatMap((part) =>
      /\p{Script=Han}/u.test(part) ? [...segmenter.segment(part)].map(({ segment }) => segment) : [part],
    );
}

/**
 * Guides come before what has the same words in the reference of the API, in the internals and in the decisions.
 * VitePress sends the text of this function to the browser as well.
 */
export function boostDocument(page: string): number {
  if (page.includes("/guide/")) return 2;
  return /\/(?:api|internals|decisions)\//.test(page) ? 0.5 : 1;
}
