import { nearest } from "../runtime/index.ts";
import type { Discovery } from "./discovery.ts";
import type { RequestOptions } from "./sender.ts";

/** What a server serves instead of a missing kind. */
export interface Served {
  /** The kinds of that apiVersion. */
  readonly kinds: readonly string[];
  /** The versions of its group. */
  readonly versions: readonly string[];
}

/** The message that the server does not serve the kind, with the most similar kind that it serves. */
export async function explainMissingKind(
  discovery: Pick<Discovery, "kinds" | "versions">,
  apiVersion: string,
  kind: string,
  options: RequestOptions = {},
): Promise<string> {
  const kinds = (await discovery.kinds(apiVersion, options)).map((each) => each.kind);
  const slash = apiVersion.indexOf("/");
  const isAsked = kinds.length === 0 && slash > 0;
  const versions = isAsked ? await discovery.versions(apiVersion.slice(0, slash), options) : [];
  return missingKindText(apiVersion, kind, { kinds, versions });
}

export function missingKindText(apiVersion: string, kind: string, { kinds, versions }: Served): string {
  const what = `the hub does not serve kind '${kind}' of ${apiVersion}`;
  const group = apiVersion.slice(0, Math.max(0, apiVersion.indexOf("/")));
  if (kinds.length > 0) {
    const like = nearest(kind, kinds);
    return like === undefined ? `${what}, which has ${kinds.length} other kinds` : `${what}; the nearest is '${like}'`;
  }
  if (versions.length === 0) return `${what}, nor any other kind of that group`;
  return `${what}; of that group it serves ${versions.map((version) => `${group}/${version}`).join(", ")}`;
}
