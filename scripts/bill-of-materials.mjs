// @ts-check
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mustRun } from "./run-command.mjs";

/**
 * Lists what an installation of a tarball brings, as CycloneDX. Peers are left out: npm would list what the tests need as well.
 *
 * @param {string} name of the package
 * @param {string} tarball
 * @param {readonly string[]} earlier tarballs of this repository that it may depend on
 */
export async function billOfMaterials(name, tarball, earlier) {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bill-"));
  try {
    // npm names the product after its folder.
    const product = join(folder, name);
    mkdirSync(product);
    await mustRun("tar", ["-xzf", tarball, "-C", product, "--strip-components=1", "package/package.json"]);
    const options = { cwd: product };
    const installing = ["install", "--no-save", "--legacy-peer-deps", "--prefer-offline"];
    await mustRun("npm", [...installing, "--no-audit", "--no-fund", ...earlier], options);
    const listing = ["sbom", "--sbom-format=cyclonedx", "--sbom-type=library"];
    return await mustRun(
      "npm",
      [...listing, "--omit=peer", "--omit=optional", "--legacy-peer-deps"],
      options,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}
