/** A module of its own, loaded on demand: a bundled CommonJS package has no named exports when it is imported itself. */
export { parse } from "yaml";
