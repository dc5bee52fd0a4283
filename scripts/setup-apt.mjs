// @ts-check
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";

/** Debian's maintainer scripts ask this program before they start a service; 101 answers "no". */
const policyFile = "/usr/sbin/policy-rc.d";

/**
 * Installs redis-server without starting it, now or at the next boot: the tests start servers of their own.
 *
 * @returns {string | undefined} what went wrong
 */
export function installRedisWithApt() {
  console.log(
    "The tests need redis-server. Installing it:\n" +
      "  apt-get update\n" +
      "  apt-get install --no-install-recommends redis-server   (no service is started or enabled)",
  );
  if (!run("apt-get", ["update"])) return "apt-get update failed";
  // With a listener an interrupt ends apt-get but not us, so that the policy is put back.
  const ignore = () => {};
  process.on("SIGINT", ignore).on("SIGTERM", ignore);
  const restorePolicy = forbidServices();
  try {
    if (!run("apt-get", ["install", "--yes", "--no-install-recommends", "redis-server"])) {
      return "apt-get install failed";
    }
    // Fails where there is no init system, and then nothing was enabled.
    spawnSync("update-rc.d", ["redis-server", "disable"], { stdio: "ignore" });
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
