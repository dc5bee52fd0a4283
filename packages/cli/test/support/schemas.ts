import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv2020 } from "ajv/dist/2020.js";

const folder = fileURLToPath(new URL("../../../../docs/reference/command-line/", import.meta.url));
const ajv = new Ajv2020({ allowUnionTypes: true });
for (const file of readdirSync(folder)) ajv.addSchema(JSON.parse(readFileSync(folder + file, "utf8")));

/** What is wrong with some lines of JSON, by one of the schemas of the docs; nothing where each fits. */
export function misfits(schema: string, lines: readonly string[]): readonly string[] {
  const validate = ajv.getSchema(`${schema}.schema.json`);
  if (validate === undefined) throw new Error(`there is no ${schema}.schema.json`);
  return lines.flatMap((line) =>
    validate(JSON.parse(line)) ? [] : [`${line}: ${ajv.errorsText(validate.errors)}`],
  );
}
