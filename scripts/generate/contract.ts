import { GRANT_SCHEMA, REPORT_SCHEMA, TOPOLOGY_SCHEMA } from "../../src/contract/index.ts";
import type { GeneratedFile } from "./types.ts";

/** The member contract as JSON Schema, from src/contract/schema.ts. */
export function contract(): GeneratedFile[] {
  const schemas = { grant: GRANT_SCHEMA, topology: TOPOLOGY_SCHEMA, report: REPORT_SCHEMA };
  return Object.entries(schemas).map(([name, schema]) => ({
    path: `deploy/contract/${name}.schema.json`,
    text: `${JSON.stringify({ $comment: "Generated from src/contract/schema.ts by npm run generate.", ...schema }, null, 2)}\n`,
  }));
}
