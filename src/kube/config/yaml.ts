/**
 * A separate module, loaded on demand: a bundled CommonJS package has no named exports when it is imported directly.
 */
export { parse } from "yaml";
