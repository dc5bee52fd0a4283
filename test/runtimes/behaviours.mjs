/**
 * What every program relies on, against a real server: takes what a program imports, so that it runs where ES modules, CommonJS and bundles
 * come from. Three clients, as three processes have; a safety period of an hour, so that only messages wake.
 */

const HOUR_MS = 3_600_000;

/**
 * What every program relies on. Answers with the names of what held; rejects with what did not.
 */
export async function behave({ holdfast: { Holdfast }, ioredisDriver, Redis, url }) {
  const redis = [new Redis(url), new Redis(url), new Redis(url)];
  const [one, other, third] = redis.map(
    (client) => new Holdfast(ioredisDriver(client), { safetyPeriodMs: HOUR_MS, watchdogMs: 900 }),
  );
  const plain = redis[0];
  const held = [];
  for (const [name, behaviour] of Object.entries(behaviours)) {
    await behaviour({ one, other, third, plain });
    held.push(name);
  }
  await close(one, other, third);
  held.push("close");
  for (const client of redis) client.disconnect();
  return held;
}

const behaviours = {
  async lock({ one, other }) {
    await one.using("rt:lock", async (lease) => {
      expect(lease.state, "held");
      expect(await other.tryLock("rt:lock"), null);
    });
    const lease = await other.tryLock("rt:lock");
    expect(lease?.state, "held");
    await lease?.unlock();
  },
  async "re-entry along the path"({ one }) {
    // The path is what an AsyncLocalStorage carries.
    const inner = await one.using("rt:entry", () => one.using("rt:entry", async (lease) => lease.state));
    expect(inner, "held");
  },
  async wait({ one, other, plain }) {
    const lease = await one.lock("rt:wait");
    const waiting = other.lock("rt:wait");
    await heard(plain, "rt:wait");
    await lease.unlock();
    await (await waiting).unlock();
  },
  async "a wait that ends"({ one, other }) {
    const lease = await one.lock("rt:timeout");
    const code = await other
      .getLock("rt:timeout")
      .lock({ waitMs: 50 })
      .then(
        () => "acquired",
        (error) => error.code,
      );
    expect(code, "ERR_HOLDFAST_WAIT_TIMEOUT");
    await lease.unlock();
  },
  async "hand-over within a client"({ one }) {
    let inside = 0;
    let turns = 0;
    const turn = () =>
      one.using("rt:turns", async () => {
        inside += 1;
        expect(inside, 1);
        await Promise.resolve();
        inside -= 1;
        turns += 1;
      });
    await Promise.all(Array.from({ length: 50 }, turn));
    expect(turns, 50);
  },
  async "fair order"({ one, other, third, plain }) {
    const order = [];
    const lease = await one.getFairLock("rt:fair").lock();
    const enter = (client, name) => client.getFairLock("rt:fair").using(async () => void order.push(name));
    const first = enter(other, "first");
    await queued(plain, 1);
    const second = enter(third, "second");
    await queued(plain, 2);
    await lease.unlock();
    await Promise.all([first, second]);
    expect(order.join(), "first,second");
  },
  async "readers together, writers alone"({ one, other }) {
    const [mine, theirs] = [one, other].map((client) => client.getReadWriteLock("rt:rw"));
    const reading = await mine?.readLock().lock();
    const beside = await theirs?.readLock().tryLock();
    expect(beside?.state, "held");
    expect(await theirs?.writeLock().tryLock(), null);
    await reading?.unlock();
    await beside?.unlock();
  },
  async "permits and a latch"({ one, other, plain }) {
    const permits = one.getPermitExpirableSemaphore("rt:permits");
    await permits.trySetPermits(1);
    const permit = await permits.acquire();
    const waiting = other.getPermitExpirableSemaphore("rt:permits").acquire();
    await heard(plain, "rt:permits");
    await permit.release();
    await (await waiting).release();
    const latch = one.getCountDownLatch("rt:latch");
    await latch.trySetCount(1);
    const opened = other.getCountDownLatch("rt:latch").await();
    await latch.countDown();
    await opened;
    await permits.delete();
  },
  async loss({ one, plain }) {
    const lease = await one.lock("rt:loss");
    const lost = new Promise((resolve) => lease.signal.addEventListener("abort", resolve, { once: true }));
    await plain.del("rt:loss");
    // The watchdog finds that it is gone.
    await lost;
    expect(lease.state, "lost");
    expect(lease.signal.reason.code, "ERR_HOLDFAST_LEASE_LOST");
  },
};

async function close(...clients) {
  const lease = await clients[0]?.lock("rt:close");
  await Promise.all(clients.map((client) => client.close({ releaseHeld: true })));
  if (lease?.state === "held") throw new Error("it was closed, and holds on");
}

/** Resolves when somebody listens for that lock. */
async function heard(plain, name) {
  await until(async () => (await plain.pubsub("CHANNELS")).some((channel) => channel.includes(name)));
}

async function queued(plain, count) {
  await until(async () => (await plain.llen("redisson_lock_queue:{rt:fair}")) === count);
}

async function until(condition) {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 2));
}

function expect(seen, wanted) {
  if (seen !== wanted) throw new Error(`it is ${String(seen)}, and should be ${String(wanted)}`);
}
