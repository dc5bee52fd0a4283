import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";

export type { Page } from "playwright-core";

/** How a page is looked at. */
export interface Look {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: "light" | "dark";
  readonly locale?: string;
  readonly reducedMotion?: boolean;
  /** Time passes only as `page.clock` says. */
  readonly stoppedAtMs?: number;
  /** Whoever has signed the certificate of the server. */
  readonly trustsAll?: boolean;
  /** Also complains about requests that fail, or are refused. */
  readonly mayAskAll?: boolean;
}

/** Leads to this machine, and is no name of it: browsers trust `http` there as little as on any other host. */
export const FAR_HOST = "ops.example";

/**
 * Opens pages in the Chromium that `npm run test:page` has found. After each test they are closed, and none may have had an error in its
 * console, an exception, or something that its security policy has refused.
 */
export function chromiumPages(): (url: string, look?: Look) => Promise<Page> {
  let browser: Browser;
  let complaints: string[] = [];
  const opened: Page[] = [];
  beforeAll(async () => {
    const { HOLDFAST_CHROMIUM: executablePath = "/usr/bin/chromium" } = process.env;
    const isRoot = process.getuid?.() === 0;
    browser = await chromium.launch({
      executablePath,
      args: [...(isRoot ? ["--no-sandbox"] : []), `--host-resolver-rules=MAP ${FAR_HOST} 127.0.0.1`],
    });
  });
  afterAll(async () => browser?.close());
  afterEach(async () => {
    for (const page of opened.splice(0)) await page.context().close();
    const found = complaints;
    complaints = [];
    expect(found).toEqual([]);
  });
  return async (url, look = {}) => {
    const context = await browser.newContext(contextOf(look));
    const page = await context.newPage();
    opened.push(page);
    page.on("console", (message) => {
      const isOfNetwork = message.text().startsWith("Failed to load resource");
      const isError = message.type() === "error" && (look.mayAskAll === true || !isOfNetwork);
      if (isError) complaints.push(message.text());
    });
    if (look.mayAskAll === true) complainOfRequests(page, (text) => complaints.push(text));
    page.on("pageerror", (error) => complaints.push(String(error.stack)));
    if (look.stoppedAtMs !== undefined) {
      await page.clock.install({ time: look.stoppedAtMs });
      await page.clock.pauseAt(look.stoppedAtMs + 60_000);
    }
    await page.goto(url);
    return page;
  };
}

function complainOfRequests(page: Page, complain: (text: string) => void): void {
  page.on("response", (response) => {
    if (response.status() >= 400) complain(`${response.status()} ${response.url()}`);
  });
  page.on("requestfailed", (request) => {
    const reason = request.failure()?.errorText ?? "";
    // The page itself ends its feed.
    if (reason !== "net::ERR_ABORTED") complain(`${reason} ${request.url()}`);
  });
}

function contextOf(look: Look): BrowserContextOptions {
  const { width = 1_280, height = 800, scheme = "light", locale = "en-GB" } = look;
  const { reducedMotion = true, trustsAll = false } = look;
  return {
    viewport: { width, height },
    colorScheme: scheme,
    locale,
    timezoneId: "UTC",
    reducedMotion: reducedMotion ? "reduce" : "no-preference",
    ignoreHTTPSErrors: trustsAll,
  };
}

/** Waits for the first news of the feed. */
export async function whenLive(page: Page): Promise<Page> {
  await page.locator(".status.live").waitFor();
  return page;
}

/** Whether the page is wider than its window. */
export function scrollsSideways(page: Page): Promise<boolean> {
  return page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
}
