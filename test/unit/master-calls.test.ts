import { beforeEach, describe, expect, test } from "vitest";
import { DriverClosedError, type ReplicaDemand } from "../../src/driver/driver.js";
import { MasterCalls } from "../../src/driver/own/master-calls.js";
import { Slots } from "../../src/driver/own/slots.js";
import { callOf, reply, ScriptedMaster, ticket } from "../support/servers/scripted-master.js";

const demand: ReplicaDemand = { replicas: 1, timeoutMs: 1_000 };

/** Masters by their addresses, and what the Redis client knows of them. */
class ScriptedCluster {
  readonly a = new ScriptedMaster();
  readonly b = new ScriptedMaster();
  /** Who has all the slots, as far as the client knows. */
  known: string | undefined = "a:1";
  /** What the client learns when it looks again; by default nothing. */
  learned: string | undefined;
  looks = 0;
  readonly calls = new MasterCalls({
    open: (master, _, events) => this.at(master).open(events),
    slots: new Slots({
      serverOf: () => this.known,
      refresh: async () => {
        this.looks += 1;
        await null;
        this.known = this.learned ?? this.known;
      },
    }),
    toError: (error) => error,
  });

  at(master: string): ScriptedMaster {
    return { "a:1": this.a, "b:2": this.b }[master] ?? never(master);
  }

  run(given = ticket()) {
    return this.calls.run(callOf("a", "k"), given, demand);
  }
}

function never(master: string): never {
  throw new Error(`nobody is at ${master}`);
}

/** Refuses scripts, as often as given. */
function redirect(master: ScriptedMaster, message: string, times = Number.POSITIVE_INFINITY): void {
  let left = times;
  master.answering = (name) => (name.startsWith("EVAL") && left-- > 0 ? reply(message) : undefined);
}

/** What was said on the way to a script, but for what opens a connection. */
function scripts(master: ScriptedMaster): string[] {
  return master.sent().filter((command) => !command.startsWith("WAIT"));
}

let cluster: ScriptedCluster;
beforeEach(() => {
  cluster = new ScriptedCluster();
});

describe("a call in a cluster", () => {
  test("goes to the master that the client knows of, on one connection for each master", async () => {
    expect(await cluster.run()).toEqual({ reply: "done", acknowledged: 1, wanted: 1 });
    await cluster.run();
    cluster.known = "b:2";
    await cluster.run();
    expect([cluster.a.links.length, cluster.b.links.length, cluster.looks]).toEqual([1, 1, 0]);
    expect([scripts(cluster.a), scripts(cluster.b)]).toEqual([["EVAL a k", "EVALSHA a k"], ["EVAL a k"]]);
  });

  test("looks for the master while none is known", async () => {
    [cluster.known, cluster.learned] = [undefined, "b:2"];
    expect(await cluster.run()).toMatchObject({ acknowledged: 1 });
    expect([cluster.looks, scripts(cluster.b)]).toEqual([1, ["EVAL a k"]]);
  });

  test("fails when none is to be found", async () => {
    cluster.known = undefined;
    await expect(cluster.run()).rejects.toThrow("no known master has the slot");
    expect(cluster.looks).toBe(1);
  });
});

describe("a call whose slot has moved", () => {
  test("goes to where the client finds it when it looks again, and waits for the replicas there", async () => {
    redirect(cluster.a, "MOVED 5 elsewhere:3");
    cluster.learned = "b:2";
    cluster.b.replicas = 3;
    expect(await cluster.run()).toEqual({ reply: "done", acknowledged: 3, wanted: 1 });
    expect([cluster.looks, scripts(cluster.b)]).toEqual([1, ["EVAL a k"]]);
  });

  test("goes to the address that it is told when the client finds nothing new", async () => {
    redirect(cluster.a, "MOVED 5 b:2");
    expect(await cluster.run()).toMatchObject({ acknowledged: 1 });
    expect([cluster.looks, scripts(cluster.b)]).toEqual([1, ["EVAL a k"]]);
  });

  test("is sent no more often than a slot can have moved on its way", async () => {
    redirect(cluster.a, "MOVED 5 b:2");
    redirect(cluster.b, "MOVED 5 a:1");
    await expect(cluster.run()).rejects.toMatchObject({ code: "MOVED" });
    expect(scripts(cluster.a).length + scripts(cluster.b).length).toBe(4);
  });

  test.each(["MOVED 5 b:2", "ASK 5 b:2"])("is not sent again when it was given up: %s", async (message) => {
    const given = ticket();
    cluster.a.answering = (name) => {
      if (!name.startsWith("EVAL")) return undefined;
      given.givenUp = true;
      return reply(message);
    };
    await expect(cluster.run(given)).rejects.toMatchObject({ message });
    expect(cluster.b.links).toHaveLength(0);
  });
});

describe("a call whose slot is being moved", () => {
  test("asks the new master for that one time, right before it, and looks for nothing", async () => {
    redirect(cluster.a, "ASK 5 b:2");
    expect(await cluster.run()).toEqual({ reply: "done", acknowledged: 1, wanted: 1 });
    expect(scripts(cluster.b)).toEqual(["ASKING", "EVAL a k"]);
    expect(await cluster.run()).toMatchObject({ acknowledged: 1 });
    expect(scripts(cluster.b)).toEqual(["ASKING", "EVALSHA a k"]);
    expect([scripts(cluster.a), cluster.looks]).toEqual([["EVAL a k", "EVALSHA a k"], 0]);
  });

  test("asks once more for a script that the new master has forgotten", async () => {
    redirect(cluster.a, "ASK 5 b:2");
    await cluster.run();
    scripts(cluster.b);
    cluster.b.answering = (name) => (name === "EVALSHA" ? reply("NOSCRIPT No matching script") : undefined);
    expect(await cluster.run()).toMatchObject({ reply: "done", acknowledged: 1 });
    expect(scripts(cluster.b)).toEqual(["ASKING", "EVALSHA a k", "ASKING", "EVAL a k"]);
  });

  test("does not ask for others that go out with it", async () => {
    redirect(cluster.a, "ASK 5 b:2");
    const asking = cluster.run();
    await asking;
    scripts(cluster.b);
    cluster.known = "b:2";
    const direct = [cluster.run(), cluster.run()];
    cluster.known = "a:1";
    await Promise.all([...direct, cluster.run()]);
    expect(scripts(cluster.b)).toEqual(["EVALSHA a k", "EVALSHA a k", "ASKING", "EVALSHA a k"]);
  });

  test("goes back to where it came from when the other master does not know of it", async () => {
    redirect(cluster.a, "ASK 5 b:2");
    redirect(cluster.b, "MOVED 5 a:1", 1);
    redirect(cluster.a, "ASK 5 b:2", 1);
    expect(await cluster.run()).toMatchObject({ reply: "done" });
    expect([scripts(cluster.a), scripts(cluster.b)]).toEqual([
      ["EVAL a k", "EVALSHA a k"],
      ["ASKING", "EVAL a k"],
    ]);
  });
});

describe("a call that fails", () => {
  test("because the server refuses it says so, and nobody looks for another master", async () => {
    redirect(cluster.a, "OOM command not allowed");
    await expect(cluster.run()).rejects.toMatchObject({ code: "OOM" });
    expect(cluster.looks).toBe(0);
  });

  test("because the master was outvoted has the client look for the new one", async () => {
    redirect(cluster.a, "CLUSTERDOWN not all slots are served");
    await expect(cluster.run()).rejects.toMatchObject({ code: "CLUSTERDOWN" });
    expect(cluster.looks).toBe(1);
  });

  test("because the connection broke has the client look for the new master, which gets the next", async () => {
    cluster.learned = "b:2";
    cluster.a.answering = () => void cluster.a.link.break();
    await expect(cluster.run()).rejects.toThrow("the connection broke");
    expect(cluster.looks).toBe(1);
    await null;
    expect(await cluster.run()).toMatchObject({ reply: "done" });
    expect(scripts(cluster.b)).toEqual(["EVAL a k"]);
  });
});

describe("closing", () => {
  test("ends the connections to all masters, and lets no call begin", async () => {
    await cluster.run();
    cluster.known = "b:2";
    await cluster.run();
    await cluster.calls.close();
    expect([cluster.a.link.closed, cluster.b.link.closed]).toEqual([true, true]);
    await expect(cluster.run()).rejects.toBeInstanceOf(DriverClosedError);
  });

  test("stops a call that is being redirected", async () => {
    cluster.a.answering = (name) => {
      if (!name.startsWith("EVAL")) return undefined;
      return cluster.calls.close().then(() => reply("MOVED 5 b:2"));
    };
    await expect(cluster.run()).rejects.toBeInstanceOf(Error);
    expect(cluster.b.links).toHaveLength(0);
  });
});
