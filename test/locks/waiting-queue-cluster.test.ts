import { expect, test } from "vitest";
import { type Driver, ServerReplyError } from "../../src/driver/driver.js";
import { Holdfast } from "../../src/holdfast.js";
import { waitingKey } from "../../src/protocol/names.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import { watched } from "../support/run/watched.js";
import { type FakeTimeClient, fakeTime } from "../support/worlds/fake-time.js";
import { arrived, HOUR_MS } from "../support/worlds/hand-off-scene.js";

const open = fakeTime();

const KEY = "a";
const [BOTH, ALONE] = [[KEY, waitingKey(KEY)], [KEY]];
/** A slot moves, and one of the two keys has moved. */
const divided: CallFault = {
  name: "the keys are at two servers",
  meet: () => Promise.reject(new ServerReplyError("TRYAGAIN Multiple keys request during rehashing of slot")),
};

function inCluster({ driver }: FakeTimeClient): Driver {
  return {
    traits: { server: "cluster", topology: "cluster" },
    get resets() {
      return driver.resets;
    },
    run: (call, ticket) => driver.run(call, ticket),
    subscribe: (channel, listener) => driver.subscribe(channel, listener),
    close: () => Promise.resolve(),
  };
}

test("a release that a moving slot refuses is sent about the lock alone, frees it, and the next one looks again", async () => {
  const time = open();
  const { clock, driver } = time;
  const other = time.connect();
  const options = { clock, replicas: { mode: "off" }, safetyPeriodMs: HOUR_MS } as const;
  const [one, two] = [time, other].map((client) => new Holdfast(inCluster(client), options)) as [
    Holdfast,
    Holdfast,
  ];
  const releases = () => driver.calls.filter(({ call }) => call.script.name === "lock-release");
  const keys = () => releases().map(({ call }) => call.keys);
  /** The first client has the lock, and frees it while the second waits, which then has it. */
  const passOn = async (before: () => void = () => undefined) => {
    const lease = await arrived(time, watched(one.getLock(KEY).lock()));
    const waiting = watched(two.getLock(KEY).lock());
    await clock.advance(0);
    driver.calls.length = 0;
    before();
    const freed = watched(lease.unlock());
    await clock.advance(1_000);
    expect(freed.outcome).toEqual({ value: undefined });
    await arrived(time, watched((await arrived(time, waiting)).unlock()));
  };

  // Others have heard of it: from now on this client looks.
  await passOn();
  expect(keys()).toEqual([ALONE]);
  await passOn(() => void driver.next(divided, "lock-release"));
  expect(keys()).toEqual([BOTH, ALONE]);
  await passOn();
  expect(keys()).toEqual([BOTH]);
  const closed = watched(Promise.all([one.close(), two.close()]));
  await clock.advance(0);
  expect(closed.outcome).toHaveProperty("value");
  time.server.flush();
});
