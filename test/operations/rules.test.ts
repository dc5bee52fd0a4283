import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findProgram, isExecutable } from "../../scripts/setup.mjs";
import { read, root } from "../support/tidy/tree.js";

const operations = join(root, "docs/operations");
const program = findProgram(["promtool"], process.env["PATH"], isExecutable);
const MISSING = "promtool is not on PATH: apt-get install --no-install-recommends prometheus";

interface Dashboard {
  readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[];
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-rules-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function promtool(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(program ?? "", args, { cwd: folder, encoding: "utf8" });
  return { ok: status === 0, output: `${stdout}${stderr}` };
}

/** The rules and their tests in a folder of their own. @param change of the rules */
function testRules(change: (rules: string) => string) {
  cpSync(operations, folder, { recursive: true });
  writeFileSync(join(folder, "alerts.yml"), change(readFileSync(join(operations, "alerts.yml"), "utf8")));
  return promtool("test", "rules", "alerts.test.yml");
}

test("the expressions of the dashboard are such that Prometheus can read them", ({ skip }) => {
  skip(program === undefined, MISSING);
  const { panels } = JSON.parse(readFileSync(join(operations, "grafana.json"), "utf8")) as Dashboard;
  const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  expect(expressions.length).toBeGreaterThan(20);
  const rules = expressions.map((expr, nth) => ({
    record: `panel_${nth}`,
    expr: expr.replaceAll("$__rate_interval", "5m").replaceAll("$job", ".*"),
  }));
  // JSON is YAML.
  const check = (all: typeof rules) => {
    writeFileSync(
      join(folder, "dashboard.yml"),
      JSON.stringify({ groups: [{ name: "dashboard", rules: all }] }),
    );
    return promtool("check", "rules", "dashboard.yml");
  };
  expect(check(rules)).toMatchObject({ ok: true });
  expect(check([...rules, { record: "broken", expr: "sum(holdfast_acquire_active" }])).toMatchObject({
    ok: false,
  });
});

test("the Prometheus for the first look finds the rules beside its configuration, and reads the port of the guide", ({
  skip,
}) => {
  skip(program === undefined, MISSING);
  cpSync(operations, folder, { recursive: true });
  expect(promtool("check", "config", "prometheus.yml")).toMatchObject({
    ok: true,
    output: expect.stringMatching(/alerts\.yml[\s\S]*SUCCESS: 6 rules found/),
  });
  const { port } =
    /"127\.0\.0\.1:(?<port>\d+)"/.exec(readFileSync(join(folder, "prometheus.yml"), "utf8"))?.groups ?? {};
  expect(read("examples/prometheus/telemetry.mjs")).toContain(`startTelemetry({ port = ${port},`);
});

describe("the alert rules, by promtool", () => {
  test("are rules, and fire where their tests say, and nowhere else", ({ skip }) => {
    skip(program === undefined, MISSING);
    expect(testRules((rules) => rules)).toMatchObject({ ok: true });
    expect(promtool("check", "rules", "alerts.yml")).toMatchObject({ ok: true });
  });

  test.for([
    [
      "the first loss of a process is not looked for",
      /unless\s+holdfast_lease_losses_total offset 5m/,
      "> 1e9",
    ],
    [
      "what was lost before a process was out of reach is new",
      / and on \(job, instance\) up[^)]*/,
      ' and on (job) up{job=""}',
    ],
    ["a process that was started anew has lost nothing new", " and on (job, instance) up offset 5m == 0", ""],
    ["clients that were closed count as well", '{holdfast_loss_reason!~"closed|released"}[5m]', "[5m]"],
    [
      "the unit is not in the name of a metric",
      "holdfast_acquire_duration(_seconds)?_count",
      "holdfast_acquire_duration_count",
    ],
    [
      "the unit has to be in it",
      "holdfast_acquire_duration(_seconds)?_count",
      "holdfast_acquire_duration_seconds_count",
    ],
    ["spin locks count as well", "spin-lock|", ""],
    ["a few timers are enough", "> 5\n", "> 0\n"],
    [
      "a hold that no call waits for is stuck",
      /and on \(holdfast_lock_kind, holdfast_lock_name\)[^>]*> 0\n/,
      "\n",
    ],
    ["a leader is stuck", ', holdfast_lock_name!~"leader.*"', ""],
    ["locks that are not contended are hot", "> 0.5", "> 0"],
    [
      "a lost connection is an outage",
      "rate(holdfast_renewal_failures_total[2m])",
      "rate(holdfast_renewal_failures_total[10m])",
    ],
    ["only calls tell of an outage", "rate(holdfast_renewal_failures_total[2m])", "vector(0)"],
    ["half of the renewals have to be late", "histogram_quantile(0.99", "histogram_quantile(0.4"],
    ["a renewal may not be late by four seconds", "[10m]))) > 5\n", "[10m]))) > 2\n"],
    ["an hour ago is late as well", /\[10m\]\)\)\) > 5\n/, "[1h]))) > 5\n"],
  ] as const)("would be refused by their tests, if %s", ([, was, becomes], { skip }) => {
    skip(program === undefined, MISSING);
    const { ok, output } = testRules((rules) => {
      const changed = rules.replaceAll(was instanceof RegExp ? new RegExp(was, "g") : was, becomes);
      expect(changed).not.toBe(rules);
      return changed;
    });
    expect({ ok, output }).toMatchObject({ ok: false, output: expect.stringContaining("alertname:") });
  });
});
