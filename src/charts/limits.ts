/** Limits on what a source may cost, each with a unit and a reason. Charts are written by strangers. */
export interface ChartLimits {
  /** A packed archive. The largest public charts have about 1 MB. */
  readonly archiveBytes: number;
  /** All files of an archive together, those of archives inside it included: what a bomb would make large. */
  readonly unpackedBytes: number;
  /** One file; helm v3 refuses larger ones itself. */
  readonly fileBytes: number;
  /** Files and folders of an archive. The largest public charts have fewer than 2,000. */
  readonly archiveEntries: number;
  /** A repository's index.yaml; large public ones have 10 to 20 MB. */
  readonly indexBytes: number;
  /** What a program may print. The largest public chart prints 5.4 MB. */
  readonly outputBytes: number;
  readonly objects: number;
  /** One object as JSON: etcd refuses more than 1.5 MiB, with what the API server adds. */
  readonly objectBytes: number;
  /** All objects together as JSON. */
  readonly renderBytes: number;
  /** Virtual memory of a program; no Go program starts below 1 GB. */
  readonly programMemoryKiB: number;
  /** The slowest public chart takes 1.2 s on two cores. */
  readonly programTimeoutMs: number;
  /** One request to a chart's host, redirects included. */
  readonly requestTimeoutMs: number;
}

const MIB = 1024 * 1024;

export const CHART_LIMITS: ChartLimits = {
  archiveBytes: 20 * MIB,
  unpackedBytes: 64 * MIB,
  fileBytes: 5 * MIB,
  archiveEntries: 10_000,
  indexBytes: 32 * MIB,
  outputBytes: 16 * MIB,
  objects: 2_000,
  objectBytes: MIB,
  renderBytes: 8 * MIB,
  programMemoryKiB: 2_000_000,
  programTimeoutMs: 30_000,
  requestTimeoutMs: 30_000,
};
