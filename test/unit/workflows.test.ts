import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { packages } from "../../scripts/pack.mjs";
import { root } from "../support/tidy/tree.js";

interface Step {
  readonly uses?: string;
  readonly run?: string;
}

interface Job {
  readonly uses?: string;
  readonly steps?: readonly Step[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly string[]>> };
}

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const read = (file: string) => readFileSync(join(root, file), "utf8");
const { scripts, engines } = JSON.parse(read("package.json")) as {
  readonly scripts: Readonly<Record<string, string>>;
  readonly engines: { readonly node: string };
};
const folder = ".github/workflows";
const workflows = Object.fromEntries(
  readdirSync(join(root, folder)).map((file) => [file, parse(read(`${folder}/${file}`)) as Workflow]),
);
const stepsOf = ({ jobs }: Workflow) => Object.values(jobs).flatMap(({ steps }) => steps ?? []);
const matrixOf = (file: string, job: string, of: string) =>
  workflows[file]?.jobs[job]?.strategy?.matrix[of] ?? [];

/** What a line of a shell, or the value of a matrix, wants of this repository. */
function missingIn(text: string): string[] {
  const called = [...text.matchAll(/npm run ([\w:-]+)/g)].flatMap(([, name = ""]) => name);
  const files = [...text.matchAll(/(?:node|bash|--file) ((?:scripts|\.ci)\/[\w./-]+)/g)];
  return [
    ...called.filter((name) => scripts[name] === undefined),
    ...files.flatMap(([, file = ""]) => (existsSync(join(root, file)) ? [] : [file])),
  ];
}

describe.each(Object.entries(workflows))("the workflow %s", (file, workflow) => {
  test("pins each action by a commit, and says which version that is", () => {
    const used = [...read(`${folder}/${file}`).matchAll(/uses: (.*)$/gm)].map(([, action = ""]) => action);
    expect(used).not.toEqual([]);
    const pinned = /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;
    expect(used.filter((action) => !action.startsWith("./") && !pinned.test(action))).toEqual([]);
    const ours = Object.values(workflow.jobs).flatMap(({ uses }) => (uses === undefined ? [] : [uses]));
    expect(ours.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test("calls only what there is", () => {
    expect(stepsOf(workflow).flatMap(({ run = "" }) => missingIn(run))).toEqual([]);
    expect(missingIn("npm run no-such && node scripts/no-such.mjs && bash .ci/none")).toHaveLength(3);
  });

  test("may do nothing but read, unless a job says otherwise", () => {
    const allowed = Object.entries(workflow.permissions);
    expect(allowed.filter(([what, how]) => what !== "contents" || how !== "read")).toEqual([]);
  });

  test("puts no text of an event into a command", () => {
    const commands = stepsOf(workflow).map(({ run = "" }) => run);
    expect(commands.filter((run) => /\$\{\{\s*(?:github|inputs)\b/.test(run))).toEqual([]);
  });
});

describe("the workflows together", () => {
  /** The releases of SUPPORT.md, by what it says of their tests. */
  const rows = [...read("SUPPORT.md").matchAll(/^\| ([\d.]+) \| ([^|]*) \| ([^|]*) \|$/gm)];
  const releases = (test: RegExp) =>
    rows.flatMap(([, release = "", , tests = ""]) => (test.test(tests) ? [release] : []));

  test("run all gates on the releases of Node that SUPPORT.md supports, and smoke on the oldest that engines admits", () => {
    expect(releases(/all gates/)).toEqual(["22", "24", "26"]);
    expect(matrixOf("ci.yml", "gates", "node")).toEqual(releases(/all gates/));
    expect(matrixOf("ci.yml", "oldest", "node")).toEqual(releases(/npm run smoke/));
    expect(engines.node).toBe(`>=${releases(/npm run smoke/)[0]}.0`);
    expect(read("CONTRIBUTING.md")).toContain(".github/workflows/ci.yml");
  });

  test("name tiers that there are", () => {
    const tiers = matrixOf("nightly.yml", "tiers", "tier");
    expect(tiers).not.toEqual([]);
    expect(tiers.filter((tier) => scripts[tier] === undefined)).toEqual([]);
  });

  test("stage all packages, in the order in which they were packed, by one job that alone has the token", () => {
    const staging = workflows["release.yml"]?.jobs["stage"];
    const commands = (staging?.steps ?? []).map(({ run = "" }) => run).join("\n");
    const names = packages.map((path) => JSON.parse(read(join(path, "package.json"))).name);
    expect(names).toHaveLength(3);
    expect(commands).toContain(`for name in ${names.join(" ")}; do`);
    const trusted = Object.values(workflows["release.yml"]?.jobs ?? {}).filter(
      ({ permissions }) => permissions?.["id-token"] === "write",
    );
    expect(trusted).toEqual([staging]);
    // What the repository could have run there would have the token as well.
    expect(commands).not.toMatch(/npm (?:ci|run)|scripts\//);
  });
});
