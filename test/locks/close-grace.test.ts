import { describe, expect, test } from "vitest";
import { ClientClosedError } from "../../src/errors.js";
import type { Holdfast } from "../../src/holdfast.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

const CLOSED = { error: expect.any(ClientClosedError) };

/** A body that goes on once the client is closing. */
function closingAround<T>(client: Holdfast, body: () => Promise<T>, graceMs = 10_000) {
  let goOn = (): void => undefined;
  const mayGoOn = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const result = watched(
    client.getLock("a").using(async () => {
      await mayGoOn;
      return body();
    }),
  );
  const close = () => {
    const closing = watched(client.close({ graceMs }));
    goOn();
    return closing;
  };
  return { result, close };
}

describe("a body that runs while its client closes", () => {
  test("may call whatever it needs within graceMs", async () => {
    const time = open();
    const client = time.connect().holdfast;
    const { result, close } = closingAround(client, async () => {
      const [own, other] = [client.getLock("a"), client.getLock("b")];
      await (await own.lock()).unlock();
      await (await own.tryLock())?.unlock();
      await (await other.lock({ waitMs: 1_000 })).unlock();
      await other.using(() => other.using(() => client.asThread(() => client.inspect("b"))));
      expect([await own.isHeldByCurrentThread(), await other.forceUnlock()]).toEqual([true, false]);
      const rw = client.getReadWriteLock("c");
      await client.getMultiLock(rw.readLock(), client.getFairLock("d")).using(() => undefined);
      return "finished";
    });
    await time.clock.advance(0);
    const closing = close();
    await time.clock.advance(0);
    expect([result.outcome, closing.outcome]).toEqual([{ value: "finished" }, { value: undefined }]);
    expect(Object.keys(time.server.dump())).toEqual([]);
  });

  test("may wait for a lock of another client, while who waits outside is rejected at once", async () => {
    const time = open();
    const [holder, client] = [time.connect().holdfast, time.connect().holdfast];
    const lease = await holder.getLock("b").lock();
    const inside = closingAround(client, () => client.getLock("b").using(() => "entered"));
    const waitedBefore = closingAround(client, async () => "later");
    const outside = watched(client.getLock("b").lock());
    await time.clock.advance(0);
    const closing = inside.close();
    await time.clock.advance(1_000);
    expect([outside.outcome, waitedBefore.result.outcome]).toEqual([CLOSED, CLOSED]);
    expect([inside.result.outcome, closing.outcome]).toEqual([undefined, undefined]);
    await lease.unlock();
    await time.clock.advance(0);
    expect([inside.result.outcome, closing.outcome]).toEqual([{ value: "entered" }, { value: undefined }]);
  });

  test("goes on waiting when the client begins to close", async () => {
    const time = open();
    const [holder, client] = [time.connect().holdfast, time.connect().holdfast];
    const lease = await holder.getLock("b").lock();
    const result = watched(client.asThread(() => client.getLock("b").using(() => "entered")));
    await time.clock.advance(0);
    const closing = watched(client.close({ graceMs: 10_000 }));
    await time.clock.advance(1_000);
    expect(result.outcome).toBeUndefined();
    await lease.unlock();
    await time.clock.advance(0);
    expect([result.outcome, closing.outcome]).toEqual([{ value: "entered" }, { value: undefined }]);
  });

  test("is waited for, too, when it was begun by another that has ended", async () => {
    const time = open();
    const client = time.connect().holdfast;
    let leave = (): void => undefined;
    let inner = watched(Promise.resolve("not begun"));
    const { result, close } = closingAround(client, async () => {
      const mayEnd = new Promise<string>((resolve) => (leave = () => resolve("finished")));
      await new Promise<void>((begun) => {
        const body = (): Promise<string> => {
          begun();
          return mayEnd;
        };
        inner = watched(client.getLock("b").using(body));
      });
    });
    await time.clock.advance(0);
    const closing = close();
    await time.clock.advance(100);
    expect([result.outcome, closing.outcome]).toEqual([{ value: undefined }, undefined]);
    leave();
    await time.clock.advance(0);
    expect([inner.outcome, closing.outcome]).toEqual([{ value: "finished" }, { value: undefined }]);
  });

  test("is refused what it waits or asks for when graceMs is over", async () => {
    const time = open();
    const [holder, client] = [time.connect().holdfast, time.connect().holdfast];
    const lease = await holder.getLock("b").lock();
    const errors: unknown[] = [];
    const { close } = closingAround(
      client,
      async () => {
        for (let i = 0; i < 2; i++)
          errors.push(
            await client
              .getLock("b")
              .lock()
              .catch((error) => error),
          );
      },
      2_000,
    );
    await time.clock.advance(0);
    const closing = close();
    await time.clock.advance(1_999);
    expect([errors, closing.outcome]).toEqual([[], undefined]);
    await time.clock.advance(1);
    expect(closing.outcome).toEqual({ value: undefined });
    expect(errors).toEqual([expect.any(ClientClosedError), expect.any(ClientClosedError)]);
    await lease.unlock();
  });

  test("is refused at once without graceMs", async () => {
    const time = open();
    const client = time.connect().holdfast;
    const { result, close } = closingAround(client, () => client.getLock("b").lock(), 0);
    await time.clock.advance(0);
    close();
    await time.clock.advance(0);
    expect(result.outcome).toEqual(CLOSED);
  });
});
