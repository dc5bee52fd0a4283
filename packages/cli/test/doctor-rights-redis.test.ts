import { describe, expect, test } from "vitest";
import { knownRights } from "../../../test/support/servers/documented-rights.js";
import { diagnose } from "./support/diagnosis.js";
import { patients, userWith } from "./support/patients.js";

const patient = patients();
const isTtl = (ms: number) => ms > 0;

describe("doctor finds missing rights:", () => {
  test.each([
    {
      without: ["-zadd", "-zscore"],
      level: "fail",
      says: "may not run ZADD, ZSCORE",
      wanted: "+zadd +zscore",
    },
    { without: ["-evalsha"], level: "warn", says: "may not run EVALSHA", wanted: "+evalsha" },
    { without: ["-pubsub"], level: "warn", says: "may not run PUBSUB NUMSUB", wanted: "+pubsub|numsub" },
    { without: ["-info"], level: "warn", says: "may not run INFO", wanted: "+info" },
  ])("the command of $without", async ({ without, level, says, wanted }) => {
    const { server, plain } = await patient.start();
    const env = await userWith(plain, [...knownRights, ...without]);
    const { entries } = await diagnose(server.url, ["--name", "order:42"], env);
    const finding = entries.find((entry) => entry.id === "rights");
    expect(finding).toMatchObject({ level, found: `the user orders ${says}` });
    expect(finding?.wanted).toBe(`ACL SETUSER orders ${wanted}`);
    // What it says helps.
    await plain.call("ACL", "SETUSER", "orders", ...wanted.split(" "));
    expect((await diagnose(server.url, ["--name", "order:42"], env)).of("rights")).toContain("ok: ");
  });

  test("the keys and the channel of a lock", async () => {
    const { server, plain } = await patient.start();
    const some = knownRights.filter((right) => !/^(?:~holdfast|~\{|&)/.test(right));
    const env = await userWith(plain, some);
    const { entries, of } = await diagnose(server.url, ["--name", "order:42"], env);
    expect(entries.find(({ id }) => id === "rights")).toMatchObject({
      level: "fail",
      found:
        "the user orders has no right to ~{NAME* ~holdfast_*:{NAME* &redisson_*{NAME*, where NAME is order:42",
    });
    expect(of("messages")).toContain("fail: no message came: NOPERM");
  });

  test("to names that locks do not have", async () => {
    const { server, plain } = await patient.start();
    const env = await userWith(plain, knownRights);
    const finding = (await diagnose(server.url, [], env)).entries.find(({ id }) => id === "rights");
    expect(finding?.found).toContain("has no right to ~NAME*");
    expect(finding?.wanted).toContain("--name");
  });

  test("to delete, and what it can not remove ends by itself", async () => {
    const { server, plain } = await patient.start();
    const env = await userWith(plain, [...knownRights, "-del"]);
    const { of } = await diagnose(server.url, ["--name", "order:42"], env);
    expect(of("rights")).toContain("DEL");
    const left = await plain.keys("*");
    expect(left.filter((key) => key.startsWith("redisson_lock_token:"))).toHaveLength(1);
    for (const key of left) expect([key, await plain.pttl(key)]).toEqual([key, expect.toSatisfy(isTtl)]);
  });

  test("to subscribe", async () => {
    const { server, plain } = await patient.start();
    const env = await userWith(plain, [...knownRights, "-subscribe"]);
    const { of } = await diagnose(server.url, ["--name", "order:42"], env);
    expect(of("messages")).toContain("fail: no message came: NOPERM");
  });
});
