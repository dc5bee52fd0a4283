import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Where Debian keeps servers, and a user's PATH does not look. */
const SERVER_FOLDERS = ["/usr/sbin", "/usr/local/sbin"];

/**
 * @param {...string} names the first that is there
 * @returns {string | undefined} its path
 */
export function findProgram(...names) {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), ...SERVER_FOLDERS];
  const files = names.flatMap((name) =>
    folders.filter((path) => path !== "").map((path) => join(path, name)),
  );
  return files.find(isExecutable);
}

/** @param {string} file */
function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
