/**
 * Every write of a ManifestWork puts a mark on the object that it delivers, and the mark comes back among the object's
 * own values. So values prove which write they came from, who wrote it, and how fresh they are at least: the object was
 * read after that write was sent. Conditions prove none of this, because OCM reports them separately from the values.
 */
export interface WriteMark {
  /** Of one ManifestWork, from its creation on: one that was recreated under the same name has another. */
  readonly lineage: string;
  /**
   * The ManifestWork's version (OCM_MARKS.version) at that write; a request for a sign of life in between repeats it.
   */
  readonly version: number;
  readonly sentAtMs: number;
}

const LINEAGE = /^[a-z0-9]{8}$/;

export function markText({ lineage, version, sentAtMs }: WriteMark): string {
  return `${lineage}.${version}.${sentAtMs}`;
}

/** Undefined for a value that no write of ours can have left. */
export function readMark(text: unknown): WriteMark | undefined {
  if (typeof text !== "string") return undefined;
  const [lineage = "", version = "", sentAt = "", ...rest] = text.split(".");
  if (rest.length > 0 || !LINEAGE.test(lineage) || !/^\d{1,15}$/.test(version) || !/^\d{1,15}$/.test(sentAt)) {
    return undefined;
  }
  return { lineage, version: Number(version), sentAtMs: Number(sentAt) };
}

/** Eight letters and digits from a random number below 1. */
export function lineageFrom(random: number): string {
  return Math.floor(random * 36 ** 8)
    .toString(36)
    .padStart(8, "0");
}
