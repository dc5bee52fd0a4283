import { describe, expect, test } from "vitest";
import type { Ticket } from "../../src/driver/driver.js";
import { ServerReplyError } from "../../src/driver/driver.js";
import type { NodeRedisCluster } from "../../src/driver/node-redis/client.js";
import { NodeRedisClusterPort } from "../../src/driver/node-redis/cluster.js";

const COMMANDS = [["CLUSTER", "NODES"], ["EVAL"]];
const events = { onLost: () => undefined, onMoved: () => undefined, onReplaced: () => undefined };

/** A cluster of two masters of which the second gets its client only when a test has it do so, and what was sent to them. */
function scene() {
  const sent: string[] = [];
  const answers = new Map<string, (failure?: Error) => void>();
  let connect = (): void => undefined;
  const connected = new Promise<void>((resolve) => {
    connect = resolve;
  });
  const masters = [{ address: "a:1" }, { address: "b:2" }];
  const nodeClient = async ({ address }: { readonly address: string }) => {
    if (address === "b:2") await connected;
    const sendCommand = ([name]: readonly string[]) =>
      new Promise((resolve, reject) => {
        sent.push(`${address} ${name}`);
        answers.set(`${address} ${name}`, (failure) => (failure ? reject(failure) : resolve(name)));
      });
    return { sendCommand };
  };
  const cluster: unknown = {
    slots: [],
    masters,
    nodeByAddress: new Map(),
    nodeClient,
    on: () => undefined,
    isOpen: true,
    _options: { rootNodes: [] },
  };
  const port = new NodeRedisClusterPort(cluster as NodeRedisCluster, events);
  const ticket: Ticket = { givenUp: false };
  const asked = port.everywhere(COMMANDS, ticket).catch((error: unknown) => error);
  const answer = (command: string, failure?: Error) => answers.get(command)?.(failure);
  return { sent, ticket, asked, answer, connect: () => connect(), silent: () => [...(ticket.silent ?? [])] };
}

const turn = () => new Promise(setImmediate);

describe("masters that are asked each by itself", () => {
  test("get nothing any more once the call is given up [P2-2]", async () => {
    const { sent, ticket, asked, connect } = scene();
    await turn();
    ticket.givenUp = true;
    connect();
    await turn();
    expect(sent).toEqual(["a:1 CLUSTER", "a:1 EVAL"]);
    expect(await asked).toMatchObject({ message: "b:2: the call was given up before it was sent" });
  });

  test("are silent until each of their answers is there", async () => {
    const { asked, answer, connect, silent } = scene();
    connect();
    await turn();
    expect(silent()).toEqual(["a:1", "b:2"]);
    answer("a:1 CLUSTER");
    await turn();
    expect(silent()).toEqual(["a:1", "b:2"]);
    answer("a:1 EVAL");
    await turn();
    expect(silent()).toEqual(["b:2"]);
    answer("b:2 CLUSTER");
    answer("b:2 EVAL");
    expect(await asked).toEqual([
      { server: "a:1", replies: ["CLUSTER", "EVAL"] },
      { server: "b:2", replies: ["CLUSTER", "EVAL"] },
    ]);
    expect(silent()).toEqual([]);
  });

  test("are named by what has failed on the way to one of them, and refuse in their own words", async () => {
    const { asked, answer } = scene();
    await turn();
    const broken = new Error("Socket closed unexpectedly");
    answer("a:1 EVAL", broken);
    expect(await asked).toMatchObject({ message: "a:1: Socket closed unexpectedly", cause: broken });
    const refused = scene();
    await turn();
    refused.answer("a:1 EVAL", new Error("NOPERM no right"));
    expect(await refused.asked).toBeInstanceOf(ServerReplyError);
  });
});
