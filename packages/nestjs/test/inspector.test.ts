import "reflect-metadata";
import { type CanActivate, type ExecutionContext, Injectable } from "@nestjs/common";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { Test } from "@nestjs/testing";
import { Holdfast } from "holdfast";
import { expect, test } from "vitest";
import { HoldfastInspectorModule, HoldfastModule } from "../src/index.js";

@Injectable()
class HeaderGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    return headers["x-role"] === "admin";
  }
}

test.each(["Express", "Fastify"])("the inspector is behind Nest's guards, on %s", async (framework) => {
  const made = await Test.createTestingModule({
    imports: [
      HoldfastModule.forTesting(),
      HoldfastInspectorModule.register({ path: "admin/locks", guards: [HeaderGuard] }),
    ],
  }).compile();
  const app =
    framework === "Fastify" ? made.createNestApplication(new FastifyAdapter()) : made.createNestApplication();
  await app.listen(0, "127.0.0.1");
  const url = (await app.getUrl()).replace("[::1]", "127.0.0.1");
  const lease = await app.get(Holdfast).lock("order:7");
  const ask = (query = "", headers = {}) => fetch(`${url}/admin/locks${query}`, { headers });
  expect((await ask()).status).toBe(403);
  const page = await ask("", { "x-role": "admin" });
  expect([page.status, page.headers.get("content-type")]).toEqual([
    200,
    expect.stringContaining("text/html"),
  ]);
  const me = await ask("?me", { "x-role": "admin" });
  expect(await me.json()).toMatchObject({ role: "read" });
  await lease.unlock();
  await app.close();
});

test("it is not mounted without a guard", () => {
  expect(() => HoldfastInspectorModule.register({ guards: [] as never })).toThrow("needs a guard");
});
