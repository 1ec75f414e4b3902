/** The parts of a pod that become a process: its first container's command, environment and volumes. Pure. */
import type { KubeObject } from "../../apiserver/index.ts";
import { type JsonObject, valueAt } from "../../runtime/index.ts";
import { objectAt, objectsAt, textAt, textsAt } from "../values.ts";

export interface PodCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A volume as a folder of this machine: there are no mounts, so a process finds it by its environment variable. */
export interface PodVolume {
  readonly name: string;
  readonly source:
    | { readonly kind: "claim" | "configMap" | "secret"; readonly name: string }
    | { readonly kind: "empty" };
}

/** `VOLUME_DATA` for the volume `data`. */
export function volumeVariable(volume: string): string {
  return `VOLUME_${volume.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")}`;
}

export function volumesOf(pod: KubeObject): PodVolume[] {
  return objectsAt(pod, "spec", "volumes").map((volume) => {
    const claim = textAt(volume, "persistentVolumeClaim", "claimName");
    const map = textAt(volume, "configMap", "name");
    const secret = textAt(volume, "secret", "secretName");
    const source = claim
      ? ({ kind: "claim", name: claim } as const)
      : map
        ? ({ kind: "configMap", name: map } as const)
        : secret
          ? ({ kind: "secret", name: secret } as const)
          : ({ kind: "empty" } as const);
    return { name: textAt(volume, "name"), source };
  });
}

/** Undefined: the container has no command, and there is no image to take one from. */
export function commandOf(pod: KubeObject, folders: Readonly<Record<string, string>>): PodCommand | undefined {
  const [container] = objectsAt(pod, "spec", "containers");
  if (!container) return undefined;
  const env: Record<string, string> = { POD_NAME: pod.metadata.name, POD_NAMESPACE: pod.metadata.namespace ?? "" };
  for (const [volume, folder] of Object.entries(folders)) env[volumeVariable(volume)] = folder;
  for (const variable of objectsAt(container, "env")) {
    env[textAt(variable, "name")] = expand(textOfVariable(variable, pod), env);
  }
  const words = [...textsAt(container, "command"), ...textsAt(container, "args")].map((word) => expand(word, env));
  const [program, ...args] = words;
  return program === undefined ? undefined : { program, args, env };
}

function textOfVariable(variable: JsonObject, pod: KubeObject): string {
  const path = textAt(variable, "valueFrom", "fieldRef", "fieldPath");
  if (path === "") return textAt(variable, "value");
  const keyed = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path);
  if (keyed) return textAt(objectAt(pod, "metadata", keyed[1] ?? ""), keyed[2] ?? "");
  if (path === "status.podIP" || path === "status.hostIP") return "127.0.0.1";
  const value = valueAt(pod, ...path.split("."));
  return typeof value === "string" ? value : "";
}

/** Kubernetes' `$(NAME)`; an undefined name stays unchanged, and `$$` is a dollar. */
export function expand(text: string, env: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\$|\$\(([A-Za-z_][A-Za-z0-9_]*)\)/g, (match, name: string | undefined) =>
    name === undefined ? "$" : (env[name] ?? match),
  );
}
