/** OpenAPI v3 of everything served: kubectl uses it to explain, validate and merge. */
export { openAPIDocuments } from "./document.ts";
