import { describe, expect, test } from "vitest";
import { readRelease, releaseComplaints } from "../../scripts/check-release.mjs";

const sound = {
  tag: "v1.2.3",
  versions: { holdfast: "1.2.3", "holdfast-cli": "1.2.3" },
  changelog: "# Changes\n\n## 1.2.3\n\n- a change\n\n## 1.2.2\n",
  changesets: [],
};

describe("a release", () => {
  test("may go out when tag, packages and changelog agree", () => {
    expect(releaseComplaints(sound)).toEqual([]);
  });

  test.each([
    [
      "a tag of another version",
      { tag: "v1.2.4" },
      /^the tag is v1\.2\.4, and holdfast has the version 1\.2\.3$/,
    ],
    ["a tag that is no version", { tag: "1.2.3" }, /^the tag is 1\.2\.3, and holdfast has/],
    [
      "a package that was left behind",
      { versions: { ...sound.versions, "holdfast-cli": "1.2.2" } },
      /^the tag is v1\.2\.3, and holdfast-cli has the version 1\.2\.2$/,
    ],
    [
      "a changelog that does not know it yet",
      { changelog: "# Changes\n\n## 1.2.3, not yet released\n" },
      /^CHANGELOG\.md has to begin with "## 1\.2\.3", not with "## 1\.2\.3, not yet released"$/,
    ],
    [
      "a change that is in no version",
      { changesets: [".changeset/new.md"] },
      /^\.changeset\/new\.md is in no version/,
    ],
  ])("may not with %s", (_, change, complaint) => {
    expect(releaseComplaints({ ...sound, ...change })[0]).toMatch(complaint);
  });

  test("is not due in this tree but for the heading of the changelog", () => {
    const tree = readRelease();
    expect(Object.keys(tree.versions)).toEqual(["holdfast", "holdfast-cli", "holdfast-nestjs"]);
    const version = tree.versions["holdfast"] ?? "";
    const [heading = "", ...rest] = releaseComplaints({ tag: `v${version}`, ...tree, changesets: [] });
    expect(rest).toEqual([]);
    // The version of the manifests is the first one that the changelog tells of, released or not.
    expect(tree.changelog).toMatch(
      new RegExp(`^# Changes\n\n## ${version.replaceAll(".", "\\.")}(?:$|, not yet)`, "m"),
    );
    expect(heading === "" || heading.includes(`"## ${version}`)).toBe(true);
  });
});
