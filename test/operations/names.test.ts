import { describe, expect, test } from "vitest";
import { listedInstruments, listedLabels, namesIn, valuesIn } from "../support/models/prometheus-names.js";
import { read } from "../support/tidy/tree.js";

const opentelemetry = read("docs/guide/opentelemetry.md");
const observing = read("docs/guide/observing.md");
const alerts = read("docs/operations/alerts.yml");
const dashboard = read("docs/operations/grafana.json");
const instruments = listedInstruments(opentelemetry);
const labels = listedLabels(opentelemetry);
const spelled = new Set(instruments.flatMap(({ spellings }) => spellings));
/** Prometheus has no series of the name of a histogram; a guide may speak of it. */
const spoken = new Set([...spelled].map((name) => name.replace(/_(?:bucket|count|sum)$/, "")));

/** The expressions of all panels and of the annotations, and the legends. */
function expressionsOf(json: string): readonly string[] {
  return [...json.matchAll(/"(?:expr|query|legendFormat|textFormat)": "((?:[^"\\]|\\.)*)"/g)].map(
    ([, text]) => JSON.parse(`"${text}"`) as string,
  );
}
const expressions = expressionsOf(dashboard);

describe("the names of metrics and labels", () => {
  test.each([
    ["alerts.yml", alerts],
    ["alerts.test.yml", read("docs/operations/alerts.test.yml")],
    ["grafana.json", expressions.join("\n")],
  ])("in %s are those that holdfast/otel makes, as Prometheus spells them", (_, text) => {
    const names = namesIn(text);
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !spelled.has(name) && !labels.has(name))).toEqual([]);
  });

  test("in the guide are those as well", () => {
    const names = namesIn(observing);
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !spelled.has(name) && !spoken.has(name) && !labels.has(name))).toEqual([]);
    const dotted = [
      ...observing.matchAll(/`(holdfast\.(?:acquire|hold|renewal|lease)\.\w+|holdfast\.contentions)`/g),
    ];
    const known = instruments.map(({ name }) => name);
    expect(dotted.length).toBeGreaterThan(3);
    expect(dotted.map(([, name]) => name).filter((name) => !known.includes(name ?? ""))).toEqual([]);
  });

  test("with a unit are asked for with and without it: an alert that fits one exporter alone is silent with the other", () => {
    const inOneWay = [alerts, ...expressions]
      .flatMap((text) => [...text.matchAll(/\bholdfast_[a-z_]+(?:\(_seconds\)\?[a-z_]*)?/g)])
      .map(([name]) => name)
      .filter((name) => !name.includes("(_seconds)?"));
    const both = instruments.filter(({ spellings }) => spellings.some((name) => name.includes("_seconds")));
    expect(both.length).toBeGreaterThan(3);
    expect(both.flatMap(({ spellings }) => spellings).filter((name) => inOneWay.includes(name))).toEqual([]);
  });

  test.each(instruments)("the dashboard shows $name", ({ spellings }) => {
    const names = namesIn(expressions.join("\n"));
    expect(spellings.filter((name) => names.includes(name))).not.toEqual([]);
  });

  test("the guide says of each instrument that is on by default what to watch in it", () => {
    const unseen = instruments.filter(
      ({ group, name }) =>
        group !== "command" &&
        !new RegExp(`\\b${name.replaceAll(".", "_")}(?:_total|_count)?\\b`).test(observing),
    );
    expect(unseen).toEqual([]);
  });

  test.each(["holdfast_via", "holdfast_outcome", "holdfast_loss_reason", "error_type"])(
    "each value of %s that is looked for is one that it can have",
    (label) => {
      const reasons = /export type LossReason =([^;]+);/.exec(read("src/errors.ts"))?.[1]?.match(/[\w-]+/g);
      const codes = read("src/errors.ts").match(/ERR_\w+/g);
      const known = { holdfast_loss_reason: reasons, error_type: codes }[label] ?? labels.get(label) ?? [];
      const asked = [alerts, ...expressions].flatMap((text) => valuesIn(text, label));
      expect(asked.length).toBeGreaterThan(0);
      expect(asked.filter((value) => !known.includes(value))).toEqual([]);
    },
  );
});

describe("the alerts", () => {
  const names = [...alerts.matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name);

  test("have each a chapter of the guide, to which it links, and a rule test", () => {
    const chapters = [...observing.matchAll(/^### (Holdfast\w+)$/gm)].map(([, name]) => name);
    expect(chapters.toSorted()).toEqual(names.toSorted());
    const links = [...alerts.matchAll(/runbook_url: (\S+)/g)].map(([, link]) => link);
    expect(links).toEqual(names.map((name) => `docs/guide/observing.md#${name.toLowerCase()}`));
    const tested = [...read("docs/operations/alerts.test.yml").matchAll(/alertname: (\w+)/g)];
    expect([...new Set(tested.map(([, name]) => name))].toSorted()).toEqual(names.toSorted());
  });

  test("are played as incidents by examples/prometheus", () => {
    const played = [...read("examples/prometheus/incidents.mjs").matchAll(/alert: "(\w+)"/g)];
    expect(played.map(([, name]) => name).toSorted()).toEqual(names.toSorted());
  });
});
