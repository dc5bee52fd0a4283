import { afterEach, describe, expect, test } from "vitest";
import { release, type UserSettings } from "../support/jvm/interop.js";
import { proves } from "../support/run/proof.js";
import { had, synchronizerFleet, take } from "./synchronizer-fleet.js";

const { directions, clear } = synchronizerFleet();
const HOUR_MS = 3_600_000;
const NAME = "order:7";

const kinds = ["semaphore", "permit-expirable-semaphore"] as const;

const namings: readonly { readonly title: string; readonly name: string; readonly settings: UserSettings }[] =
  [
    { title: "a name with braces around a part", name: "{order}:7", settings: {} },
    { title: "a name that opens braces", name: "a{b", settings: {} },
    { title: "a name that closes braces", name: "a}b", settings: {} },
    { title: "a name beyond ASCII", name: "заказ ☂ 7", settings: {} },
    { title: "a name mapper", name: NAME, settings: { namePrefix: "app:" } },
    { title: "a name mapper that adds braces", name: NAME, settings: { namePrefix: "{app}:" } },
  ];

describe.each(namings)(`Redisson ${release}: $title`, ({ name, settings }) => {
  const { namePrefix = "" } = settings;
  const of = settings.namePrefix === undefined ? "names" : "mapper";
  afterEach(() => clear(`${namePrefix}${name}`));

  describe.each(directions)("$title", ({ title, users }) => {
    describe.each(kinds)("%s", (kind) => {
      proves({ kind, direction: title, of });

      test("refuses and wakes", async () => {
        const [holder, waiter] = await users(settings);
        const on = { kind, name };
        await holder.call(on, "trySetPermits", { permits: 1 });
        const held = await take(holder, on, kind === "semaphore" ? {} : { leaseMs: HOUR_MS });
        expect(await had(waiter, on)).toBe(false);
        const waiting = take(waiter, on);
        await waiter.waits();
        await held.giveBack();
        await (await waiting).giveBack();
      });
    });

    describe("count-down-latch", () => {
      proves({ kind: "count-down-latch", direction: title, of });

      test("wakes", async () => {
        const [holder, waiter] = await users(settings);
        const on = { kind: "count-down-latch", name } as const;
        await holder.call(on, "trySetCount", { count: 1 });
        const waiting = waiter.call(on, "await");
        await waiter.waits();
        await holder.call(on, "countDown");
        expect(await waiting).toBe(true);
      });
    });
  });
});
