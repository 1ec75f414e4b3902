/** OpenAPI v3 of everything served, and the built-in kinds' schemas for strict field validation. */
export { builtInSchema } from "./openapi/built-in.ts";
export { openAPIDocuments } from "./openapi/document.ts";
