/** `npm run karmada:up`: a real hub and three members on loopback; the kubeconfig's path is the last line printed. */
import { bringUp } from "../../stack/commands.ts";
import { startStack } from "./stack.ts";

await bringUp("karmada", startStack);
