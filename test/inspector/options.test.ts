import { describe, expect, test } from "vitest";
import { type InspectorOptions, inspector } from "../../src/inspector/index.js";
import { fakeTime } from "../support/worlds/fake-time.js";

const open = fakeTime();
const authorize = () => ({ role: "read" }) as const;

describe("inspector", () => {
  test.each([
    [undefined, TypeError, "options must be an object"],
    [{}, TypeError, "authorize must be a function"],
    [{ authorize: "read" }, TypeError, "authorize must be a function"],
    [{ authorize, refresh: 5 }, TypeError, 'there is no option "refresh" of inspector'],
    [{ authorize, title: 7 }, TypeError, "title"],
    [{ authorize, title: "x".repeat(101) }, TypeError, "title"],
    [{ authorize, refreshMs: 499 }, RangeError, "refreshMs"],
    [{ authorize, refreshMs: 60_001 }, RangeError, "refreshMs"],
    [{ authorize, historyMinutes: 0 }, RangeError, "historyMinutes"],
    [{ authorize, maxViewers: 0 }, RangeError, "maxViewers"],
    [{ authorize, maxViewers: "9" }, TypeError, "maxViewers"],
    [{ authorize, links: "https://x.example" }, TypeError, "links must be an object"],
    [{ authorize, links: { pod: "https://x.example" } }, TypeError, 'there is no link "pod"'],
    [{ authorize, links: { client: "javascript:alert(1)" } }, TypeError, "links.client"],
    [{ authorize, links: { client: "data:text/html,{app}" } }, TypeError, "links.client"],
    [{ authorize, links: { trace: "https://{labels.host}/x" } }, TypeError, "links.trace"],
    [{ authorize, links: { trace: "https://ops.example{app}" } }, TypeError, "links.trace"],
    [{ authorize, links: { trace: "{app}://ops.example" } }, TypeError, "links.trace"],
    [{ authorize, origin: "https://ops.example/locks" }, TypeError, "origin"],
    [{ authorize, origin: "ops.example" }, TypeError, "origin"],
    [{ authorize, group: "a b" }, RangeError, "group"],
    [{ authorize, log: "stderr" }, TypeError, "log"],
  ])("refuses %j at once", (options, errorClass, message) => {
    const { holdfast } = open();
    expect(() => inspector(holdfast, options as InspectorOptions)).toThrow(errorClass);
    expect(() => inspector(holdfast, options as InspectorOptions)).toThrow(message);
  });

  test("takes links with placeholders only after the host, and a page's origin", () => {
    const { holdfast } = open();
    const links = { client: "https://grafana.example/d/pods?pod={labels.pod}", trace: "HTTP://t:9411" };
    const locks = inspector(holdfast, { authorize, links, origin: "https://ops.example" });
    expect(() => {
      locks.close();
      locks.close();
    }).not.toThrow();
  });

  test("sends nothing before somebody looks", async () => {
    const { holdfast, driver, clock } = open();
    inspector(holdfast, { authorize, clock });
    await clock.advance(60_000);
    expect(driver.names).toEqual([]);
  });
});
