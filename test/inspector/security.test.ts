import { describe, expect, test } from "vitest";
import { assets } from "../../src/inspector/assets.js";
import type { Access, Authorize } from "../../src/inspector/index.js";
import { digestOf } from "../../src/inspector/rows.js";
import { doors } from "../support/worlds/doors.js";
import { inspecting, PAGE, passing } from "../support/worlds/inspecting.js";

const open = inspecting();
const HOUR_MS = 3_600_000;
const TOLD_MS = 12_000;
const [asset = ""] = Object.keys(assets).filter((name) => name !== "index.html");
const unseen = "x".repeat(43);
const free = { search: "?free=a", method: "POST" } as const;

/** What a free is refused with, or 400 where it was let in: there is no lock. */
async function freed(
  [, door]: (typeof doors)[number],
  headers: Readonly<Record<string, string>>,
  how: Parameters<typeof open>[1] = {},
): Promise<number> {
  const { time, locks } = open({}, how);
  const all = { "holdfast-seen": unseen, ...headers };
  return (await passing(time, door(locks, { ...free, headers: all }))).status;
}
const LET_IN = 400;

describe.each(doors)("by %s", (...door) => {
  describe("S3: what changes something comes from the page itself", () => {
    test.each([
      [{ "sec-fetch-site": "same-origin" }, LET_IN],
      [{ "sec-fetch-site": "same-origin", origin: "http://localhost" }, LET_IN],
      [{ "sec-fetch-site": "same-site" }, 403],
      [{ "sec-fetch-site": "cross-site" }, 403],
      [{ "sec-fetch-site": "none" }, 403],
      [{ "sec-fetch-site": "cross-site", origin: "http://localhost" }, 403],
      [{ origin: "http://localhost" }, LET_IN],
      [{ origin: "https://localhost" }, 403],
      [{ origin: "http://localhost:81" }, 403],
      [{ origin: "http://evil.example" }, 403],
      [{ origin: "null" }, 403],
      [{}, 403],
    ])("%j: %i", async (headers, status) => {
      expect(await freed(door, headers as Record<string, string>)).toBe(status);
    });

    test("one without both is let in only where authorize says that a token proves it", async () => {
      const authorize = () => ({ role: "operate", byToken: true }) as const;
      expect(await freed(door, {}, { authorize })).toBe(LET_IN);
      expect(await freed(door, { origin: "http://evil.example" }, { authorize })).toBe(403);
      expect(await freed(door, { "sec-fetch-site": "cross-site" }, { authorize })).toBe(403);
    });

    const OPS = "https://ops.example";
    test.each([
      [{ origin: OPS }, LET_IN],
      [{ origin: "http://localhost" }, 403],
      [{ "sec-fetch-site": "same-origin" }, LET_IN],
      [{ "sec-fetch-site": "same-origin", origin: OPS }, LET_IN],
      [{ "sec-fetch-site": "same-origin", origin: "https://evil.example" }, 403],
      [{ "sec-fetch-site": "same-origin", origin: "http://localhost" }, 403],
      [{ "sec-fetch-site": "same-origin", origin: "null" }, 403],
      [{ "sec-fetch-site": "cross-site", origin: OPS }, 403],
    ])("with the option origin, that alone is the page's own: %j: %i [I3]", async (headers, status) => {
      expect(await freed(door, headers as Record<string, string>, { origin: OPS })).toBe(status);
    });

    test.each([
      ["https://ops.example", LET_IN],
      ["null", 403],
    ])(
      "without it a proxy may have rewritten Host: same-origin beside %s: %i [I3]",
      async (origin, status) => {
        expect(await freed(door, { "sec-fetch-site": "same-origin", origin })).toBe(status);
      },
    );

    test.each(["?free=a", "?scan"])("%s needs a header that no form can send", async (search) => {
      const { time, locks } = open();
      const headers = { "sec-fetch-site": "same-origin" };
      const { status, body } = await passing(time, door[1](locks, { search, method: "POST", headers }));
      expect([status, body]).toEqual([400, expect.stringContaining("the header holdfast-")]);
    });
  });

  describe("S4: authorize decides about each request", () => {
    test.each([
      ["none", () => ({ role: "none" })],
      ["another role", () => ({ role: "admin" })],
      ["true", () => true],
      ["nothing", () => undefined],
      [
        "an error",
        () => {
          throw new Error("the database is away");
        },
      ],
      ["a rejection", () => Promise.reject(new Error("the database is away"))],
    ] as [string, () => unknown][])("%s is 404, as if it were not there", async (_, authorize) => {
      for (const search of ["", `?asset=${asset}`, "?me", "?snapshot", "?feed", "?lock=a", "?zz=%zz"]) {
        for (const method of ["GET", "POST", "OPTIONS"]) {
          const { time, looks, locks } = open({}, { authorize: authorize as Authorize });
          const { status, body } = await passing(time, door[1](locks, { search, method }));
          expect([search, method, status, body, looks.driver.names]).toEqual([search, method, 404, "", []]);
        }
      }
    });

    test("it is asked about scripts and styles as well", async () => {
      const asked: string[] = [];
      const authorize = ({ url }: Request) => {
        asked.push(new URL(url).search);
        return { role: "read" } as const;
      };
      const { time, locks } = open({}, { authorize });
      for (const search of ["", `?asset=${asset}`, "?me"]) await passing(time, door[1](locks, { search }));
      expect(asked).toEqual(["", `?asset=${asset}`, "?me"]);
    });

    test("its response is sent as it is", async () => {
      const headers = new Headers({ location: "/login" });
      headers.append("set-cookie", "a=1");
      headers.append("set-cookie", "b=2");
      const authorize = () => new Response("go and log in", { status: 302, headers });
      const { time, locks } = open({}, { authorize });
      const answered = await passing(time, door[1](locks, { search: "?me" }));
      expect(answered).toMatchObject({ status: 302, body: "go and log in" });
      expect(answered.headers).toMatchObject({
        location: "/login",
        "set-cookie": expect.stringMatching(/b=2/),
      });
    });

    test("it gets the request, and that of the framework", async () => {
      let seen: unknown[] = [];
      const authorize = (request: Request, native: unknown) => {
        seen = [new URL(request.url).pathname, request.headers.get("cookie"), typeof native];
        return { role: "read" } as const;
      };
      const { time, locks } = open({}, { authorize });
      await passing(time, door[1](locks, { search: "?me", headers: { cookie: "user=ada" } }));
      expect(seen.slice(0, 2)).toEqual(["/a/b/locks", "user=ada"]);
      expect(["string", "object"]).toContain(seen[2]);
    });
  });

  test("S5: a reader changes nothing", async () => {
    const authorize = () => ({ role: "read", actor: "eve", byToken: true }) as const;
    const { time, looks, locks } = open({}, { authorize });
    const headers = { "sec-fetch-site": "same-origin", "holdfast-seen": unseen, "holdfast-scan": "1" };
    const answered = [];
    for (const search of ["?free=a", "?scan"])
      answered.push((await passing(time, door[1](locks, { search, method: "POST", headers }))).status);
    expect([answered, looks.driver.names]).toEqual([[403, 403], []]);
  });

  test("S6: a browser runs and shows nothing but what is the page's own, whatever is asked for", async () => {
    for (const search of ["", `?asset=${asset}`, "?me", "?nothing", "?lock=%zz"]) {
      const { time, locks } = open();
      const { headers } = await passing(time, door[1](locks, { search }));
      expect(headers).toMatchObject({
        "content-security-policy":
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "same-origin",
      });
      expect(Object.keys(headers)).not.toContain("set-cookie");
    }
  });

  test.each([
    ["of https, or of this machine", { "sec-fetch-site": "none" }, "same-origin"],
    ["of https, behind a proxy that rewrites Host", { "sec-fetch-site": "same-origin" }, "same-origin"],
    ["of plain http", {}, undefined],
  ])(
    "S6: a page is apart from those that open it where browsers heed that: one %s [own-76]",
    async (...of) => {
      const [, headers, policy] = of;
      for (const role of ["read", "none"] as const) {
        const { time, locks } = open({}, { authorize: () => ({ role }) });
        const answered = await passing(
          time,
          door[1](locks, { search: "", headers: headers as Record<string, string> }),
        );
        expect(answered.headers["cross-origin-opener-policy"]).toBe(policy);
      }
    },
  );
});

describe("S8: a lock that is freed", () => {
  test("is told by the feed, by the log and by the client's event, with actor, reason and holder", async () => {
    const lines: string[] = [];
    const { time, ask, view } = open({ presence: { app: "billing" } }, { log: (line) => lines.push(line) });
    const lease = await time.holdfast.getLock("a").lock({ leaseMs: HOUR_MS });
    await time.clock.advance(TOLD_MS);
    const page = await view();
    await page.next("snapshot");
    const seen = digestOf("a", [{ holder: lease.holder, count: 1 }]);
    const headers = { "sec-fetch-site": "same-origin", "holdfast-seen": seen };
    const answered = await ask("?free=a&reason=stuck%0Asince%20noon", { method: "POST", headers });
    expect(await answered.json()).toEqual({ outcome: "released", now: null });
    const told = (await page.next("event")) as readonly object[];
    expect(told[0]).toMatchObject({
      type: "forced",
      key: "a",
      actor: "ada",
      reason: "stuck\nsince noon",
      holder: expect.stringContaining(`(${lease.holder})`),
    });
    expect(lines).toEqual([
      `lock "a" freed by force: actor "ada", reason "stuck\\nsince noon", holders ["${lease.holder}"]`,
    ]);
    await page.leave();
  });
});

describe("S9: everything is bounded", () => {
  test("viewers are, in all", async () => {
    const authorize = () => ({ role: "read" }) as const;
    const { ask, view } = open({}, { authorize, maxViewers: 12 });
    const pages = [];
    for (let nth = 0; nth < 12; nth += 1) pages.push(await view());
    const refused = await ask("?feed");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "30"]);
    await pages[0]?.leave();
    expect((await ask("?feed")).status).toBe(200);
  });

  test("viewers are, of one actor", async () => {
    let actor = "ada";
    const { ask, view } = open({}, { authorize: () => ({ role: "read", actor }) });
    for (let nth = 0; nth < 10; nth += 1) await view();
    expect((await ask("?feed")).status).toBe(429);
    actor = "bob";
    expect((await ask("?feed")).status).toBe(200);
  });

  test("frees are: ten a minute of one actor, sixty in all", async () => {
    let actor = "ada";
    const { time, ask } = open({}, { authorize: () => ({ role: "operate", actor }) });
    const headers = { "sec-fetch-site": "same-origin", "holdfast-seen": unseen };
    const once = async () => (await ask("?free=a", { method: "POST", headers })).status;
    const times = async (count: number) => {
      const all = [];
      for (let nth = 0; nth < count; nth += 1) all.push(await once());
      return all.filter((status) => status !== 429).length;
    };
    expect(await times(12)).toBe(10);
    const others = [];
    for (actor of ["b", "c", "d", "e", "f", "g"]) others.push(await times(10));
    expect(others).toEqual([10, 10, 10, 10, 10, 0]);
    await time.clock.advance(60_000);
    expect(await times(12)).toBe(10);
  });
});

describe("S10: a feed", () => {
  const mayLook: Access = { role: "read", actor: "eve" };
  test.each([
    ["none", () => ({ role: "none" }) as const],
    ["a response", () => new Response(null, { status: 302 })],
    [
      "an error",
      () => {
        throw new Error("the database is away");
      },
    ],
  ] as [string, Authorize][])(
    "is authorized again each minute, and ends when that answers %s",
    async (_, later) => {
      let authorize: Authorize = () => mayLook;
      let asked = 0;
      const { time, view } = open(
        {},
        {
          authorize: (request, native) => {
            asked += 1;
            return authorize(request, native);
          },
        },
      );
      const page = await view();
      await page.next("snapshot");
      await time.clock.advance(181_000);
      expect([asked, page.isEnded]).toEqual([4, false]);
      authorize = later;
      await time.clock.advance(60_000);
      expect([asked, page.isEnded]).toEqual([5, true]);
    },
  );

  test("ends when authorize does not answer for a minute", async () => {
    let answers = true;
    const authorize = () => (answers ? mayLook : new Promise<never>(() => undefined));
    const { time, view } = open({}, { authorize });
    const page = await view();
    await page.next("snapshot");
    answers = false;
    await time.clock.advance(119_000);
    expect(page.isEnded).toBe(false);
    await time.clock.advance(2_000);
    expect(page.isEnded).toBe(true);
  });
});

test("no body is ever read", async () => {
  const { locks, time } = open();
  let isRead = false;
  const pull = () => {
    isRead = true;
  };
  const body = new ReadableStream({ pull }, { highWaterMark: 0 });
  const headers = { "sec-fetch-site": "same-origin", "holdfast-seen": unseen };
  const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
  const request = new Request(`${PAGE}?free=a`, init);
  const { status } = await passing(time, locks.fetch(request));
  expect([status, isRead, request.bodyUsed]).toEqual([LET_IN, false, false]);
});
