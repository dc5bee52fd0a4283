import { subpaths } from "./scripts/subpaths.mjs";

/** @type {import("knip").KnipConfig} */
export default {
  workspaces: {
    ".": {
      entry: [
        ...Object.values(subpaths).map((source) => `${source}!`),
        "demo/main.ts",
        "page/src/main.tsx",
        "scripts/*.mjs",
        "test/**/*.test.ts",
        "test/simulation/campaign/{digests,main,toy-worker,worker}.ts",
        "test/simulation/defects/{hunt/player,run}.ts",
        "test/types/*.test-d.ts",
        "test/otel/guide/*.ts",
        "test/support/documents/names.ts",
        "test/support/programs/*.ts",
        "test/runtimes/*",
      ],
      project: ["src/**/*.ts!", "page/src/**/*.{ts,tsx}", "demo/**/*.ts", "scripts/**/*.mjs", "test/**/*.ts"],
    },
    "packages/cli": {
      entry: ["test/support/programs/*.mjs"],
      project: ["src/**/*.ts!", "test/**/*.{ts,mjs}"],
    },
    "packages/nestjs": {
      entry: [
        "src/index.ts!",
        "src/terminus.ts!",
        "test/*.test.ts",
        "test/*.test-d.ts",
        "test/shop/main.ts",
        "test/jest/*.js",
      ],
      project: ["src/**/*.ts!", "test/*.ts", "test/{jest,shop}/*"],
      ignoreDependencies: ["@nestjs/apollo", "@nestjs/graphql", "@nestjs/swagger"],
    },
    "examples/fencing": {
      entry: ["*.ts", "test/*.ts"],
      project: ["**/*.ts"],
    },
    runtimes: {
      ignoreDependencies: [".*"],
    },
    site: {
      entry: ["api.mjs"],
      project: ["**/*.{mjs,ts}", ".vitepress/**/*.ts"],
      ignoreDependencies: ["typedoc-plugin-markdown"],
    },
    bench: {
      entry: ["main.mjs", "support/worker.mjs"],
      project: ["**/*.{mjs,d.ts}"],
    },
  },
  ignoreBinaries: ["java", "pngquant", "script", "setpriv", "update-rc.d"],
  ignoreDependencies: ["@arethetypeswrong/cli", "axe-core", "holdfast", "publint", "redlock4", "redlock5"],
  ignoreExportsUsedInFile: true,
};
