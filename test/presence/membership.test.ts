import { afterEach, expect, test, vi } from "vitest";
import { events, type PresenceFailedEvent } from "../../src/events.js";
import { watchLeaks } from "../support/run/leaks.js";
import { until } from "../support/run/until.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();
const MODULE = "../../src/presence/presence.js";
afterEach(() => vi.doUnmock(MODULE));

test("presence that can not be loaded, as when the package was taken away, is told once, and the locks go on", async () => {
  vi.doMock(MODULE, () => {
    throw new Error("it is not there");
  });
  const failures: PresenceFailedEvent[] = [];
  const onFailure = (event: PresenceFailedEvent) => void failures.push(event);
  events.presenceFailed.subscribe(onFailure);
  const { clock, holdfast, driver } = open({ presence: {} });
  await clock.advance(60_000);
  await until(() => failures.length > 0);
  await (await holdfast.lock("a")).unlock();
  await clock.advance(60_000);
  events.presenceFailed.unsubscribe(onFailure);
  expect(failures).toEqual([
    expect.objectContaining({ clientId: holdfast.clientId, group: "default", final: true }),
  ]);
  expect(driver.names.filter((name) => name.startsWith("presence"))).toEqual([]);
  await holdfast.close();
});
