import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectionAsTyped } from "../src/connection/as-typed.js";
import { connectionSettings } from "../src/connection/settings.js";
import { titleOf } from "../src/title.js";
import { holdfast } from "./support/command-line.js";

let folder = "";
let file = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-settings-"));
  file = join(folder, "password");
  writeFileSync(file, "from a file\nand more");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("how to reach Redis", () => {
  test("is what the command line says, else HOLDFAST_URL, else REDIS_URL, else this machine", () => {
    const host = (options: object, env: NodeJS.ProcessEnv) => connectionSettings(options, env).target;
    const env = { HOLDFAST_URL: "redis://b", REDIS_URL: "redis://c" };
    expect([
      host({ url: "redis://a" }, env),
      host({}, env),
      host({}, { REDIS_URL: "redis://c" }),
      host({}, {}),
    ]).toMatchObject(["a", "b", "c", "127.0.0.1"].map((name) => ({ address: { host: name } })));
  });

  test("takes the password from the file, else HOLDFAST_PASSWORD, else the URL", () => {
    const url = "redis://ada:in-url@h";
    const login = (options: object, env: NodeJS.ProcessEnv) =>
      connectionSettings({ url, ...options }, env).target.login;
    const env = { HOLDFAST_PASSWORD: "from env", HOLDFAST_USER: "eve" };
    expect([login({ passwordFile: file }, env), login({ user: "bob" }, env), login({}, {})]).toEqual([
      { username: "eve", password: "from a file" },
      { username: "bob", password: "from env" },
      { username: "ada", password: "in-url" },
    ]);
  });

  test("warns of a password on the command line, and not of one in the environment", () => {
    expect(connectionSettings({ url: "redis://:pw@h" }, {}).warnings).toEqual([
      expect.stringContaining("`ps` shows"),
    ]);
    expect(connectionSettings({}, { HOLDFAST_URL: "redis://:pw@h" }).warnings).toEqual([]);
  });

  test("warns each time when certificates are not verified", () => {
    expect(connectionSettings({ url: "rediss://h", tlsNoVerify: true }, {}).warnings).toHaveLength(1);
    expect(connectionSettings({ url: "rediss://h" }, { HOLDFAST_TLS_NO_VERIFY: "1" }).warnings).toHaveLength(
      1,
    );
  });

  test.each([
    [["ls", "--group", "a b"], "--group must be 1 to 64 letters"],
    [["ls", "--connect-timeout", "5"], "--connect-timeout has no unit"],
    [["ls", "--password-file", "/does/not/exist"], "--password-file: ENOENT"],
    [["ls", "--tls-cert", "package.json"], "--tls-cert and --tls-key need each other"],
    [["ls", "--url", "nowhere"], "the URL of Redis is wrong"],
    [["ls", "--older-than", "5"], "--older-than has no unit"],
    [["ls", "--limit", "0"], "whole number from 1 on"],
    [["ls", "--sort", "size"], "Allowed choices are age, waiting, name"],
    [["ls", "--max-keys", "5"], "--max-keys needs --scan"],
    [["ls", "--watch"], "--watch redraws a terminal"],
    [["ls", "--watch", "--json"], "--watch redraws a table"],
    [["ls", "--watch", "--scan"], "--scan is for a single search"],
    [["ls", "x".repeat(1_001)], "a pattern must have at most 1000 characters"],
    [["ls", "--stal"], "unknown option '--stal'"],
    [["show"], "missing required argument 'name'"],
    [["show", "a", "--kind", "lock"], "Allowed choices are semaphore, latch"],
    [["lss"], "unknown command 'lss'"],
  ])("%j is refused with 64, and nothing is sent", async (args, why) => {
    const { code, out, err } = await holdfast(args, { env: { HOLDFAST_URL: "redis://127.0.0.1:1" } });
    expect({ code, out, err }).toEqual({ code: 64, out: "", err: expect.stringContaining(why) });
    expect(err).toMatch(/^holdfast: /);
  });

  test("is told by a command line that leads to the same keys, without a login", () => {
    const typed = { url: "redis://h/1", prefix: "my app:", group: "eu", tlsNoVerify: true };
    expect(connectionAsTyped(typed).join(" ")).toBe(
      "--url redis://h/1 --prefix 'my app:' --group eu --tls-no-verify",
    );
    expect(connectionAsTyped({ url: "redis://ada:pw@h" })).toEqual([]);
  });

  test("is in the title of the process without the logins of URLs", () => {
    expect(titleOf(["ls", "--url", "redis://ada:p@w@h:6379/1", "--url=rediss://:geheim@h", "a@b"])).toBe(
      "holdfast ls --url redis://***@h:6379/1 --url=rediss://***@h a@b",
    );
  });
});
