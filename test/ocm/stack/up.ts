/**
 * `npm run ocm:up`: a real hub and three managed clusters on loopback; the kubeconfig's path is the last line printed.
 */
import { bringUp } from "../../stack/commands.ts";
import { startStack } from "./stack.ts";

await bringUp("ocm", startStack);
