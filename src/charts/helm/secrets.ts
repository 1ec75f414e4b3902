/** Keeps secret values out of messages: helm quotes what it cannot read, and messages end up in a status. Pure. */
import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject, type Json } from "../../runtime/index.ts";
import type { HelmSource } from "./template.ts";

/** Shorter ones would turn ordinary words into stars. */
const MIN_CHARACTERS = 6;
const SECRET_KEY = /pass|secret|token|key|credential|cert/i;

export function withoutSecrets(
  message: string,
  /** Of those from Secrets everything is secret, of the others what its key calls so. */
  { values, secretValues = [] }: Pick<HelmSource, "values" | "secretValues">,
  previous: readonly KubeObject[],
): string {
  const secrets = new Set<string>();
  for (const layer of values) collect(layer, false, secrets);
  for (const layer of secretValues) collect(layer, true, secrets);
  for (const object of previous) if (object.kind === "Secret") collectSecret(object, secrets);
  // The longest first: one may contain another.
  const found = [...secrets].filter((secret) => message.includes(secret)).sort((a, b) => b.length - a.length);
  return found.reduce((text, secret) => text.replaceAll(secret, "***"), message);
}

function collect(value: Json | undefined, isSecret: boolean, into: Set<string>): void {
  if (typeof value === "string" && isSecret && value.length >= MIN_CHARACTERS) into.add(value);
  else if (Array.isArray(value)) for (const item of value) collect(item, isSecret, into);
  else if (isJsonObject(value))
    for (const [key, item] of Object.entries(value)) collect(item, isSecret || SECRET_KEY.test(key), into);
}

function collectSecret({ data, stringData }: KubeObject, into: Set<string>): void {
  collect(stringData, true, into);
  collect(data, true, into);
  if (!isJsonObject(data)) return;
  for (const encoded of Object.values(data)) {
    if (typeof encoded === "string") collect(Buffer.from(encoded, "base64").toString("utf8"), true, into);
  }
}
