import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createSecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import helmet from "helmet";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Holdfast } from "../../src/index.js";
import { type Inspector, type InspectorOptions, inspector } from "../../src/inspector/index.js";
import { MemoryServer, memoryDriver } from "../../src/memory/index.js";
import { type Mount, mounts, onHttp, PATH } from "../support/inspector/mounts.js";
import { chromiumPages, FAR_HOST, type Look, type Page, whenLive } from "../support/page/chromium.js";
import { startNginx } from "../support/page/nginx.js";
import { makeCertificates } from "../support/servers/certificates.js";

const closing: (() => unknown)[] = [];
// Before the pages' own, which comes first then: a page must not see its server end.
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
const open = chromiumPages();
const KEY = "order:42";

let server: MemoryServer;
beforeEach(() => {
  server = new MemoryServer();
});

function client(app: string): Holdfast {
  const holdfast = new Holdfast(memoryDriver(server), { presence: { app, host: false, everyMs: 1_000 } });
  closing.push(() => holdfast.close());
  return holdfast;
}

function looking(options: Partial<InspectorOptions> = {}): Inspector {
  const authorize = () => ({ role: "operate", actor: "ada" }) as const;
  const locks = inspector(client("inspector"), { authorize, refreshMs: 500, ...options });
  closing.push(() => locks.close());
  return locks;
}

/** @returns the address of a program with an inspector, without the path */
function mounted(mount: Mount, locks = looking()): Promise<string> {
  return mount(locks, (close) => closing.push(close));
}

/** nginx with the inspector below a path of its own. @returns its port */
async function prefixed(base: string, directives = ""): Promise<number> {
  const nginx = await startNginx(`location /ops/locks {
    proxy_pass ${base}${PATH};
    ${directives}
  }`);
  closing.push(() => nginx.stop());
  return nginx.port;
}

/** Sees on the page that one lock is held, and another one comes and goes. */
async function watching(url: string, look: Look = { mayAskAll: true }): Promise<Page> {
  const billing = client("billing");
  const lease = await billing.getLock(KEY).lock({ note: "invoice 42" });
  // One that nothing keeps is collected, and not renewed any more.
  closing.push(() => lease.state);
  const page = await whenLive(await open(url, look));
  const row = (name: string) => page.locator("tbody tr", { hasText: name });
  await row(KEY).getByText("billing", { exact: false }).waitFor();
  const other = await billing.getLock("stock").lock();
  await row("stock").waitFor();
  await other.unlock();
  await row("stock").waitFor({ state: "detached" });
  // By the feed, not by asking now and then.
  expect(await page.locator(".status.live").count()).toBe(1);
  return page;
}

async function frees(page: Page, answer: string): Promise<boolean> {
  await page.locator("tbody tr", { hasText: KEY }).click();
  await page.locator(".panel code").getByText(`-- ${KEY}`).waitFor();
  await page.locator("[data-key=f]").click();
  const dialog = page.getByRole("dialog", { name: `Free ${KEY}?` });
  await dialog.getByRole("textbox").first().fill(KEY);
  await dialog.getByRole("button", { name: "Free it" }).click();
  await dialog.getByText(answer).waitFor();
  return server.command("EXISTS", KEY) === 0;
}

describe.each(mounts)("mounted in %s", (_, mount) => {
  it("shows, follows and frees, and the browser complains of nothing", async () => {
    const page = await watching((await mounted(mount)) + PATH);
    expect(await frees(page, "Freed.")).toBe(true);
  });
});

/** With TLS, by HTTP/2 where the browser speaks it. */
const onHttp2: Mount = async (locks, close) => {
  const { server: pair } = await makeCertificates();
  const program = createSecureServer({ ...pair, allowHTTP1: true }, (request, response) =>
    locks.node(request as unknown as IncomingMessage, response as unknown as ServerResponse),
  );
  program.listen(0, "127.0.0.1");
  await once(program, "listening");
  close(() => program.close());
  return `https://localhost:${(program.address() as AddressInfo).port}`;
};

it("shows, follows and frees by TLS and HTTP/2, and the browser complains of nothing [I2]", async () => {
  const page = await watching((await mounted(onHttp2)) + PATH, { mayAskAll: true, trustsAll: true });
  const [load] = await page.evaluate(() => performance.getEntriesByType("navigation"));
  expect(load).toMatchObject({ nextHopProtocol: "h2" });
  expect(await frees(page, "Freed.")).toBe(true);
});

describe("behind nginx under a prefix", () => {
  const passesHost = "proxy_set_header Host $http_host;";
  const policy = Object.entries(helmet.contentSecurityPolicy.getDefaultDirectives())
    .map(([name, values]) => [name, ...(values as Iterable<string>)].join(" "))
    .join("; ");
  const ofHelmet = `add_header Content-Security-Policy "${policy}";
    add_header Cross-Origin-Embedder-Policy require-corp;
    add_header Origin-Agent-Cluster ?1;`;

  it.each([
    ["Host rewritten", "/ops/locks", ""],
    ["Host passed on, a slash behind it", "/ops/locks/", passesHost],
    ["helmet's default policy beside ours", "/ops/locks", ofHelmet],
  ])("shows, follows and frees, and the browser complains of nothing: %s", async (_, path, directives) => {
    const port = await prefixed(await mounted(onHttp), directives);
    const page = await watching(`http://127.0.0.1:${port}${path}`);
    expect(await frees(page, "Freed.")).toBe(true);
  });

  it("also by plain http from another machine, where browsers say less of themselves [own-76]", async () => {
    const port = await prefixed(await mounted(onHttp), passesHost);
    const page = await watching(`http://${FAR_HOST}:${port}/ops/locks`);
    expect(await frees(page, "Freed.")).toBe(true);
  });

  it("there, with Host rewritten, the option origin is needed, and the page says so [own-76]", async () => {
    const port = await prefixed(await mounted(onHttp));
    const page = await watching(`http://${FAR_HOST}:${port}/ops/locks`, {});
    expect(await frees(page, "the origin that the option origin or the header Host names")).toBe(false);
  });

  it("there, with Host rewritten and the option origin, it frees", async () => {
    let locks = looking();
    const node: Inspector["node"] = (...asked) => locks.node(...asked);
    const port = await prefixed(await mounted(onHttp, { ...locks, node }));
    const origin = `http://${FAR_HOST}:${port}`;
    locks = looking({ origin });
    const page = await watching(`${origin}/ops/locks`);
    expect(await frees(page, "Freed.")).toBe(true);
  });
});
