// @ts-check
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";

/** Debian's maintainer scripts ask this program before they start a service; 101 answers "no". */
const policyFile = "/usr/sbin/policy-rc.d";

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
 * Installs a server without starting it, now or at the next boot: the tests start servers of their own.
 *
 * @param {"redis-server" | "nginx"} name of the package and of its service
 * @param {string} need what needs it
 * @returns {string | undefined} what went wrong
 */
export function installServerWithApt(name, need) {
  console.log(
    `${need} ${name}. Installing it:\n` +
      "  apt-get update\n" +
      `  apt-get install --no-install-recommends ${name}   (no service is started or enabled)`,
  );
  if (!run("apt-get", ["update"])) return "apt-get update failed";
  // With a listener an interrupt ends apt-get but not us, so that the policy is put back.
  const ignore = () => {};
  process.on("SIGINT", ignore).on("SIGTERM", ignore);
  const restorePolicy = forbidServices();
  try {
    if (!run("apt-get", ["install", "--yes", "--no-install-recommends", name])) {
      return "apt-get install failed";
    }
    // Fails where there is no init system, and then nothing was enabled.
    spawnSync("update-rc.d", [name, "disable"], { stdio: "ignore" });
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
