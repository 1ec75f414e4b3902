export { nearest } from "../../runtime/index.ts";
