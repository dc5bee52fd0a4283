import { describe, expect, it } from "vitest";
import {
  browserPlan,
  findChromium,
  findNginx,
  findServer,
  packagesState,
  prometheusPlan,
  proxyPlan,
  serverPlan,
} from "../../scripts/setup.mjs";
import { databasePlan, findMariadb, findPostgres } from "../../scripts/setup-databases.mjs";

describe("setup: packages", () => {
  const redis = { version: "6.0.0", integrity: "sha512-a" };
  const wanted = { packages: { "": {}, "node_modules/ioredis": redis } };
  const present = () => true;

  it("are missing when npm has recorded no installation", () => {
    expect(packagesState(wanted, undefined, present)).toBe("missing");
  });

  it("are ready when everything is recorded and there", () => {
    expect(packagesState(wanted, { packages: { "node_modules/ioredis": { ...redis } } }, present)).toBe(
      "ready",
    );
  });

  it.each([
    ["of another version is installed", { "node_modules/ioredis": { ...redis, version: "5.9.2" } }],
    ["has other contents", { "node_modules/ioredis": { ...redis, integrity: "sha512-b" } }],
    ["is not installed", {}],
  ])("are stale when one %s", (_, packages) => {
    expect(packagesState(wanted, { packages }, present)).toBe("stale");
  });

  it("are stale when a recorded folder is gone", () => {
    expect(packagesState(wanted, wanted, () => false)).toBe("stale");
  });

  it("are ready without the optional ones of other platforms", () => {
    const withOptional = { packages: { ...wanted.packages, "node_modules/other-os": { optional: true } } };
    expect(packagesState(withOptional, wanted, present)).toBe("ready");
  });
});

describe("setup: server", () => {
  it("is found in any folder of PATH", () => {
    expect(findServer("/a:/b", (file) => file === "/b/redis-server")).toBe("/b/redis-server");
  });

  it("may be Valkey", () => {
    expect(findServer("/a::/b", (file) => file === "/b/valkey-server")).toBe("/b/valkey-server");
  });

  it("is not found in an empty PATH", () => {
    expect(findServer("", () => true)).toBeUndefined();
    expect(findServer(undefined, () => true)).toBeUndefined();
  });

  const debian = {
    platform: "linux",
    osRelease: 'NAME="Debian GNU/Linux"\nID=debian\n',
    isRoot: true,
    mayInstall: true,
  };

  it("is installed with apt by root on Debian and its kin", () => {
    expect(serverPlan(debian)).toEqual({ install: "apt" });
    expect(serverPlan({ ...debian, osRelease: "ID=ubuntu\nID_LIKE=debian\n" })).toEqual({ install: "apt" });
    expect(serverPlan({ ...debian, osRelease: 'ID=linuxmint\nID_LIKE="ubuntu debian"\n' })).toEqual({
      install: "apt",
    });
  });

  it.each([
    ["somebody else than root", { isRoot: false }],
    ["HOLDFAST_NO_INSTALL=1", { mayInstall: false }],
  ])("is not installed for %s: the line to type is shown", (_, circumstances) => {
    expect(serverPlan({ ...debian, ...circumstances })).toEqual({
      tell: ["sudo apt-get install --no-install-recommends redis-server"],
    });
  });

  it("is left to the user on Fedora and macOS, root or not", () => {
    expect(serverPlan({ ...debian, osRelease: "ID=fedora\n" })).toEqual({
      tell: ["sudo dnf install valkey"],
    });
    expect(serverPlan({ ...debian, osRelease: 'ID="rocky"\nID_LIKE="rhel centos fedora"\n' })).toEqual({
      tell: ["sudo dnf install valkey"],
    });
    expect(serverPlan({ ...debian, platform: "darwin", osRelease: "" })).toEqual({
      tell: ["brew install redis"],
    });
  });

  it("is explained for every system where the system is unknown", () => {
    const plan = serverPlan({ ...debian, osRelease: "ID=alpine\n" });
    expect("tell" in plan && plan.tell).toHaveLength(3);
  });
});

describe("setup: what the tests of the page and of the alert rules need", () => {
  const debian = { platform: "linux", osRelease: "ID=debian\n", isRoot: true, mayInstall: true };

  it("is a browser of any of its names, and nginx also where PATH lacks the folder of servers", () => {
    expect(findChromium("/a:/b", (file) => file === "/b/google-chrome")).toBe("/b/google-chrome");
    expect(findNginx("/a:/b", (file) => file === "/b/nginx")).toBe("/b/nginx");
    expect(findNginx("/a", (file) => file === "/usr/sbin/nginx")).toBe("/usr/sbin/nginx");
    expect(findNginx(undefined, () => false)).toBeUndefined();
  });

  it.each([
    ["chromium", browserPlan],
    ["nginx", proxyPlan],
    ["prometheus", prometheusPlan],
  ])("%s is installed with apt by root on Debian, and by others themselves", (name, plan) => {
    expect(plan(debian)).toEqual({ install: "apt" });
    const type = `sudo apt-get install --no-install-recommends ${name}`;
    expect(plan({ ...debian, isRoot: false })).toEqual({ tell: [type] });
  });
});

describe("setup: what the tests of the databases need", () => {
  const debian = { platform: "linux", osRelease: "ID=debian\n", isRoot: true, mayInstall: true };

  it("is the newest PostgreSQL that Debian has put beside PATH, else the one on PATH", () => {
    const releases = ["9", "15", "17"];
    const isFound = (file: string) => !file.includes("/17/");
    const folder = "/usr/lib/postgresql/15/bin";
    const programs = { install: `${folder}/initdb`, server: `${folder}/postgres` };
    expect(findPostgres({ path: "/a", releases, isFound })).toEqual(programs);
    expect(findPostgres({ path: "/a", releases: [], isFound })?.server).toBe("/a/postgres");
    expect(findPostgres({ path: "/a", releases, isFound: () => false })).toBeUndefined();
    expect(
      findPostgres({ path: "/a", releases: [], isFound: (file) => file === "/a/initdb" }),
    ).toBeUndefined();
  });

  it("is a MariaDB with all that its installation asks for, also where PATH lacks the folder of servers", () => {
    const all = ["/a/mariadb-install-db", "/a/my_print_defaults", "/usr/sbin/mariadbd"];
    const find = (files: readonly string[]) =>
      findMariadb({ path: "/a", isFound: (file) => files.includes(file) });
    expect(find(all)).toEqual({ install: "/a/mariadb-install-db", server: "/usr/sbin/mariadbd" });
    for (const missing of all) expect(find(all.filter((file) => file !== missing))).toBeUndefined();
  });

  it("is installed with apt by root on Debian, and by others themselves: only what is missing", () => {
    expect(databasePlan(["mariadb"], debian)).toEqual({ install: "apt" });
    const tell = (packages: string) => ({
      tell: [`sudo apt-get install --no-install-recommends ${packages}`],
    });
    const user = { ...debian, isRoot: false };
    expect(databasePlan(["postgres"], user)).toEqual(tell("postgresql"));
    expect(databasePlan(["mariadb"], user)).toEqual(tell("mariadb-server-core mariadb-client-core"));
    expect(databasePlan(["postgres", "mariadb"], { ...user, osRelease: "ID=fedora\n" })).toEqual({
      tell: ["sudo dnf install postgresql-server mariadb-server"],
    });
  });
});
