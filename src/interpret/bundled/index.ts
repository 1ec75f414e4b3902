import type { JsonObject } from "../../runtime/index.ts";
export const BUNDLED: readonly JsonObject[] = [];
