import { describe, expect, test } from "vitest";
import { assertWhole } from "../../src/driver/whole-cluster.js";

interface Node {
  readonly slots: string;
  readonly role?: "master" | "slave";
}

const wholeCluster: Readonly<Record<string, Node>> = {
  a: { slots: "0-5460" },
  b: { slots: "5461-10921 16383 [93->-292f8b]" },
  c: { slots: "10922-16382" },
};

/** What the node called `myself` answers to `CLUSTER NODES`. */
function viewOf(myself: string, nodes: Readonly<Record<string, Node>> = wholeCluster): string {
  const lines = Object.entries(nodes).map(([id, { slots, role = "master" }], at) => {
    const flags = id === myself ? `myself,${role}` : role;
    return `${id} 127.0.0.1:700${at}@1700${at},host ${flags} - 0 1426238317239 ${at} connected ${slots}`.trim();
  });
  return `${lines.join("\n")}\n`;
}

describe("the masters that have answered", () => {
  test("have all slots, replicas and masters without any aside", () => {
    const nodes = { ...wholeCluster, d: { slots: "" }, e: { slots: "0-5460", role: "slave" } } as const;
    expect(() => assertWhole(["a", "b", "c"].map((id) => viewOf(id, nodes)))).not.toThrow();
  });

  test("have not when one that another of them knows is not among them [P2-1]", () => {
    expect(() => assertWhole([viewOf("a"), viewOf("c")])).toThrow("127.0.0.1:7001 has 5462 slots");
  });

  test("have not when one of them is a replica by now, even if it still believes to be the master", () => {
    const promoted = {
      a: { slots: "", role: "slave" },
      b: wholeCluster["b"] ?? { slots: "" },
      c: wholeCluster["c"] ?? { slots: "" },
      d: { slots: "0-5460" },
    } as const;
    expect(() => assertWhole(["a", "b", "c"].map((id) => viewOf(id, promoted)))).toThrow(
      "127.0.0.1:7003 has",
    );
    expect(() => assertWhole([viewOf("a"), viewOf("b", promoted), viewOf("c", promoted)])).toThrow(
      "127.0.0.1:7003 has 5461 slots",
    );
  });

  test("have not when a slot has no master", () => {
    const { a, b } = wholeCluster;
    const nodes = { ...(a && { a }), ...(b && { b }) };
    expect(() => assertWhole(["a", "b"].map((id) => viewOf(id, nodes)))).toThrow(
      "5461 slots of the cluster have no master",
    );
  });

  test("may see a slot on its way at either of two of them", () => {
    const moved = { ...wholeCluster, a: { slots: "0-5459" }, c: { slots: "5460 10922-16382" } };
    expect(() => assertWhole([viewOf("a"), viewOf("b"), viewOf("c", moved)])).not.toThrow();
  });
});
