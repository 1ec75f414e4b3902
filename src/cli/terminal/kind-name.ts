import { CommandError } from "../errors.ts";

/**
 * The kinds that commands take as KIND/NAME, by their short names. The first one is meant if no kind is given. Nothing
 * is imported from the API, because `--help` must not load it; a test compares both.
 */
export const KIND_WORDS = {
  ccs: ["ccs", "crossclusterstatefulset", "crossclusterstatefulsets"],
  dapp: ["dapp", "distributedapplication", "distributedapplications"],
  ccj: ["ccj", "crossclusterjob", "crossclusterjobs"],
} as const;

export type ShortKind = keyof typeof KIND_WORDS;

const GROUP = ".apps.karmada.io";

export interface KindName {
  readonly kind: ShortKind;
  readonly name: string;
}

/** Reads `name`, `ccs/name`, `ccj/name` and `crossclusterjob.apps.karmada.io/name`, as kubectl users write them. */
export function parseKindName(given: string): KindName {
  const slash = given.indexOf("/");
  if (slash < 0) return { kind: "ccs", name: given };
  const word = given.slice(0, slash).toLowerCase();
  const bare = word.endsWith(GROUP) ? word.slice(0, -GROUP.length) : word;
  for (const kind of Object.keys(KIND_WORDS) as ShortKind[]) {
    if (KIND_WORDS[kind].some((each) => each === bare)) return { kind, name: given.slice(slash + 1) };
  }
  const known = Object.values(KIND_WORDS).map(([short, singular]) => `${short}/NAME for a ${singular}`);
  throw new CommandError(`'${given}': '${word}' is no kind of Lockstep; write ${known.join(", or ")}`);
}

export function isJobName(given: string | undefined): given is string {
  return given?.includes("/") === true && parseKindName(given).kind === "ccj";
}
