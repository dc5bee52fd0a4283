// @ts-check
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";

/** Debian's maintainer scripts ask this program before they start a service; 101 answers "no". */
const policyFile = "/usr/sbin/policy-rc.d";

/** @typedef {"redis-server" | "nginx" | "prometheus" | "postgresql" | "mariadb-server-core" | "mariadb-client-core"} ServerPackage */

/**
 * Installs Chromium for the tests of the page.
 *
 * @returns {string | undefined} what went wrong
 */
export function installChromiumWithApt() {
  console.log(
    "The tests of the page need Chromium. Installing it, some 100 MB to download:\n" +
      "  apt-get update\n" +
      "  apt-get install --no-install-recommends chromium",
  );
  if (!run("apt-get", ["update"])) return "apt-get update failed";
  const isInstalled = run("apt-get", ["install", "--yes", "--no-install-recommends", "chromium"]);
  return isInstalled ? undefined : "apt-get install failed";
}

/**
 * Installs servers without starting one, now or at the next boot: the tests start servers of their own.
 *
 * @param {readonly ServerPackage[]} names of packages; a package that has a service has one of the same name
 * @param {string} need what needs them
 * @returns {string | undefined} what went wrong
 */
export function installServersWithApt(names, need) {
  console.log(
    `${need} ${names.join(" and ")}. Installing:\n` +
      "  apt-get update\n" +
      `  apt-get install --no-install-recommends ${names.join(" ")}   (no service is started or enabled)`,
  );
  if (!run("apt-get", ["update"])) return "apt-get update failed";
  // With a listener an interrupt ends apt-get but not us, so that the policy is put back.
  const ignore = () => {};
  process.on("SIGINT", ignore).on("SIGTERM", ignore);
  const restorePolicy = forbidServices();
  try {
    if (!run("apt-get", ["install", "--yes", "--no-install-recommends", ...names])) {
      return "apt-get install failed";
    }
    // Fails where there is no init system, and then nothing was enabled.
    for (const name of names) spawnSync("update-rc.d", [name, "disable"], { stdio: "ignore" });
    return undefined;
  } finally {
    restorePolicy();
    process.off("SIGINT", ignore).off("SIGTERM", ignore);
  }
}

/** @returns {() => void} puts back what was there before */
function forbidServices() {
  const before = existsSync(policyFile)
    ? { text: readFileSync(policyFile), mode: statSync(policyFile).mode }
    : undefined;
  rmSync(policyFile, { force: true });
  writeFileSync(policyFile, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  return () => {
    rmSync(policyFile, { force: true });
    if (before !== undefined) writeFileSync(policyFile, before.text, { mode: before.mode });
  };
}

/**
 * @param {string} command
 * @param {string[]} args
 */
function run(command, args) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  return spawnSync(command, args, { stdio: ["ignore", "inherit", "inherit"], env }).status === 0;
}
