/** OpenAPI v3 of everything served: what kubectl explains, validates and merges by. */
export { openAPIDocuments } from "./openapi/document.ts";
