import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EmbeddedStage } from "../../demo/stage/embedded-stage.js";
import { RedisStage } from "../../demo/stage/redis-stage.js";
import { type RedisServer, startRedis } from "../support/servers/redis-server.js";

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

// A scene that Ctrl-C has interrupted goes on while the demo ends.
describe("a stage that is being closed starts no process any more", () => {
  it("on a real server", async () => {
    const stage = await RedisStage.connect(server.url);
    const closing = stage.close();
    await expect(stage.replace("A")).rejects.toThrow("the demo has ended");
    await closing;
  });

  it("on the embedded server", async () => {
    const stage = new EmbeddedStage();
    const closing = stage.close();
    await expect(stage.process("A")).rejects.toThrow("the demo has ended");
    await closing;
  });
});
