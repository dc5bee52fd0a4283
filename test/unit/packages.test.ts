import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly engines: unknown;
  readonly homepage: string;
  readonly bugs: string;
  readonly repository: { readonly url: string; readonly directory?: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

function manifest(folder: string): Manifest {
  return JSON.parse(
    readFileSync(new URL(`../../${folder}package.json`, import.meta.url), "utf8"),
  ) as Manifest;
}

const core = manifest("");
const packages = readdirSync(new URL("../../packages/", import.meta.url)).map((name) => `packages/${name}/`);

describe("the packages of this repository", () => {
  test("have one version, and what stands on holdfast wants exactly that", () => {
    expect(packages.length).toBeGreaterThan(0);
    for (const folder of packages) {
      const { version, license, engines, dependencies, peerDependencies } = manifest(folder);
      expect([folder, version, license, engines]).toEqual([folder, core.version, core.license, core.engines]);
      // A program has its own copy; what stands in an application has the application's.
      expect({ ...dependencies, ...peerDependencies }["holdfast"]).toBe(core.version);
    }
  });

  test("say where they come from, and where to tell of a bug", () => {
    const url = core.repository.url.replace(/^git\+(.*)\.git$/, "$1");
    expect(url).toMatch(/^https:\/\/github\.com\/[\w-]+\/holdfast$/);
    for (const folder of ["", ...packages]) {
      const { homepage, bugs, repository } = manifest(folder);
      const directory = folder.replace(/\/$/, "");
      expect([homepage, bugs, repository.url, repository.directory ?? ""]).toEqual([
        directory === "" ? `${url}#readme` : `${url}/tree/main/${directory}#readme`,
        `${url}/issues`,
        core.repository.url,
        directory,
      ]);
    }
    for (const page of ["SECURITY.md", "SUPPORT.md"]) {
      const text = readFileSync(new URL(`../../${page}`, import.meta.url), "utf8");
      const hosted = [...text.matchAll(/https:\/\/github\.com\/[\w-]+\/[\w-]+/g)].map(([link]) => link);
      expect(new Set(hosted)).toEqual(new Set([url]));
    }
  });

  test("are published without dependencies where they are the library", () => {
    expect(core.dependencies).toBeUndefined();
  });
});
