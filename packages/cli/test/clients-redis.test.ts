import { afterEach, describe, expect, test } from "vitest";
import { locksOnRedis } from "../../../test/support/servers/locks-on-redis.js";
import { holdfast as commandLine, type Written } from "./support/command-line.js";
import { clientId, storeClient } from "./support/presence.js";
import { misfits } from "./support/schemas.js";

const redis = locksOnRedis();

afterEach(() => redis.plain.flushall());

function clients(...args: readonly string[]): Promise<Written> {
  return commandLine(["clients", ...args], { env: { HOLDFAST_URL: redis.server.url } });
}

async function storeFleet(): Promise<void> {
  const hold = ["a", "lock", 1, 1, 1_000, 1, "a note"];
  await storeClient(redis.plain, {
    id: clientId(1),
    app: "api",
    holds: [hold],
    waits: [["b", "lock", 5]],
    agoMs: 4_000,
  });
  await storeClient(redis.plain, { id: clientId(2), app: "jobs", labels: { region: "eu" }, agoMs: 60_000 });
  await storeClient(redis.plain, {
    id: clientId(3),
    app: "mail",
    lost: [["a", "expired", 10]],
    agoMs: 600_000,
  });
}

describe("holdfast clients", () => {
  test("lists the fleet, those that are gone first", async () => {
    await storeFleet();
    const { code, lines, err } = await clients();
    expect(code).toBe(0);
    expect(lines.map((line) => line.split(/ {2,}/).slice(0, 7))).toEqual([
      ["APP", "HOST", "PID", "LAST SEEN", "UP", "HOLDS", "WAITS"],
      ["mail", "web-7", "7", "10 min ago, gone", "11 min", "0", "0"],
      ["jobs", "web-7", "7", "60 s ago, gone", "2 min", "0", "0"].map((text) =>
        text === "60 s ago, gone" ? "1 min ago, gone" : text,
      ),
      ["api", "web-7", "7", "4 s ago", expect.stringMatching(/^1 min$/), "1", "1"],
    ]);
    expect(err).toBe('holdfast: 3 clients in the group "default", 2 gone\n');
  });

  test("writes an object in a line that fits its schema", async () => {
    await storeFleet();
    const { lines } = await clients("--json");
    expect(misfits("client", lines)).toEqual([]);
    expect(lines.map((line) => (JSON.parse(line) as { app: string }).app)).toEqual(["mail", "jobs", "api"]);
  });

  test("says how programs come into the list where it is empty", async () => {
    const { code, out, err } = await clients("--group", "eu");
    expect({ code, out }).toEqual({ code: 0, out: "" });
    expect(err).toBe(
      'holdfast: no client of the group "eu" has presence: programs turn it on with the option presence\n',
    );
  });
});
