/** Whether a kubeconfig works in the controller's pod, which has no other file and no program beside Node. Pure. */
import { parse } from "yaml";
import { isJsonObject, type Json } from "../../../runtime/index.ts";

const FLATTEN = "flatten it with 'kubectl config view --minify --flatten --raw'";
/** By the part of a kubeconfig: fields that name files. */
const FILES = {
  cluster: ["certificate-authority"],
  user: ["client-certificate", "client-key", "tokenFile"],
} as const;
/** Fields that run programs. */
const PROGRAMS = ["exec", "auth-provider"] as const;

/** What is wrong, and what to do; undefined if it works. */
export function whyNotInPod(text: string): string | undefined {
  const config = parsed(text);
  if (!isJsonObject(config)) return "it is not a kubeconfig";
  const context = named(config.contexts, config["current-context"], "context");
  if (!context) return "it names no current context: set one with 'kubectl config use-context'";
  const parts = {
    cluster: named(config.clusters, context.cluster, "cluster"),
    user: named(config.users, context.user, "user"),
  };
  for (const part of ["cluster", "user"] as const) {
    const found = parts[part];
    if (!found) return `its current context names a ${part} that it does not have`;
    const file = FILES[part].find((field) => found[field] !== undefined);
    if (file !== undefined) {
      return `${part}.${file} is the name of a file that the controller's pod does not have: ${FLATTEN}`;
    }
  }
  const program = PROGRAMS.find((field) => parts.user?.[field] !== undefined);
  if (program !== undefined) {
    return `user.${program} runs a program that the controller's image does not have: use a token of the controller's account`;
  }
  return undefined;
}

function parsed(text: string): Json | undefined {
  try {
    return parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** The `cluster` of the cluster with that name, and the like. */
function named(list: Json | undefined, name: Json | undefined, part: string) {
  const entries = Array.isArray(list) ? list.filter(isJsonObject) : [];
  const found = entries.find((entry) => typeof name === "string" && entry.name === name)?.[part];
  return isJsonObject(found) ? found : undefined;
}
