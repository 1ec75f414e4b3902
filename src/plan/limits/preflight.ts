import type { ReasonCode } from "../../rollout/index.ts";
import { nearest } from "../../runtime/index.ts";
import { addressesOf, addressProblem, clusterIdOf } from "../identity/address.ts";
import { firstOrdinal, fixIdentity, localName, rangeStart } from "../identity/identity.ts";
import type { ClusterName, Intent, Ledger, LedgerIdentity, RollingUpdate } from "../types/index.ts";
import { majorityOf } from "./quorum.ts";
import { oversizeOf } from "./size.ts";

/** Something that the settings make impossible (`error`), or do differently from what they seem to say (`warning`). */
export interface Problem {
  readonly code: Extract<ReasonCode, "SettingImpossible" | "IdentityImmutable" | "TooLarge">;
  readonly severity: "error" | "warning";
  /** The field of the CrossClusterStatefulset's spec. */
  readonly field: string;
  readonly message: string;
  readonly remedy: string;
}

/** Two-instance StatefulSet names must leave room for the hash that Kubernetes adds to its revisions. */
const WORKLOAD_NAME_MAX_CHARACTERS = 52;
/** What of the application's identity a person can edit. */
const APP_FIELDS = [
  ["resourceSelector.name", "name"],
  ["resourceSelector.namespace", "namespace"],
  ["network.serviceName", "service"],
] as const;
const PERCENTAGE = /^\d+(\.\d+)?%$/;

/** [R4] The problems that are known before any step starts. */
export function preflight(intent: Intent, ledger: Ledger): Problem[] {
  const found: Problem[] = [];
  const sizes = sizesOf(intent);
  sizeProblem(intent, ledger, found);
  identityProblems(intent, ledger, sizes, found);
  if (intent.update.type === "OnDelete") {
    if (intent.workload.protocol === "ignorant") {
      found.push(
        error(
          "updateStrategy.type",
          "OnDelete cannot be kept: this operator acts on every change of its spec",
          "Use RollingUpdate, or an operator on the contract.",
        ),
      );
    }
  } else {
    rolloutProblems(intent, ledger, intent.update, sizes, found);
  }
  for (const { field, message, remedy } of intent.settingProblems ?? []) found.push(error(field, message, remedy));
  scheduleProblems(intent, ledger, sizes, found);
  return found;
}

/** [I12] Said before anything of it is in the ledger. */
function sizeProblem(intent: Intent, ledger: Ledger, found: Problem[]): void {
  const oversize = oversizeOf(intent, ledger);
  if (!oversize) return;
  const { what, asked, limit } = oversize;
  const isAsked = what === "instances" ? "are asked for" : "are known or asked for";
  found.push({
    code: "TooLarge",
    severity: "error",
    field: what === "instances" ? "replicas" : "topology.clusters",
    message: `${asked} ${what} ${isAsked}, and one application may have ${limit}: nothing is added anywhere`,
    remedy:
      what === "instances"
        ? `Ask for ${limit} instances at most, and divide what is larger into several applications.`
        : "Use clusters that the application has been in before, or divide it into several applications.",
  });
}

function sizesOf(intent: Intent): ReadonlyMap<ClusterName, number> {
  const sizes = new Map<ClusterName, number>();
  if (intent.schedule.kind === "known")
    for (const { cluster, replicas } of intent.schedule.clusters) sizes.set(cluster, replicas);
  return sizes;
}

function identityProblems(
  intent: Intent,
  ledger: Ledger,
  sizes: ReadonlyMap<ClusterName, number>,
  found: Problem[],
): void {
  const wanted = fixIdentity(intent);
  const identity = ledger.identity ?? wanted;
  if (ledger.identity) {
    for (const [field, part] of APP_FIELDS) {
      const [is, was] = [wanted.app[part], identity.app[part]];
      if (is !== was) found.push(immutable(field, `was ${was} when the first instance was granted, is ${is} now`));
    }
    for (const field of ["mode", "blockSize", "addressTemplate", "reuseVolumes"] as const) {
      if (wanted[field] === identity[field] || (field === "reuseVolumes" && intent.identity.reuseVolumes === undefined))
        continue;
      found.push(
        immutable(
          `identity.${field}`,
          `was ${identity[field]} when the first instance was granted, is ${wanted[field]} now`,
        ),
      );
    }
    for (const [cluster, id] of Object.entries(intent.identity.clusterIds)) {
      const recorded = ledger.clusters[cluster]?.clusterId;
      if (recorded !== undefined && recorded !== id) {
        found.push(
          immutable(
            `identity.clusterIDs.${cluster}`,
            `was ${recorded} when the cluster was first granted, is ${id} now`,
          ),
        );
      }
    }
  }
  if (identity.mode === "Dense" && intent.workload.protocol !== "contract") {
    found.push(
      error(
        "identity.mode",
        "Dense needs an operator on the contract: a StatefulSet's ordinals are contiguous",
        "Use Blocks for a StatefulSet, PerCluster for an operator that names its instances itself.",
      ),
    );
  }
  if (identity.mode === "Blocks" && intent.workload.protocol === "ignorant") {
    found.push(
      error(
        "identity.mode",
        "Blocks needs a StatefulSet or an operator on the contract: this one numbers its instances itself",
        "Use PerCluster.",
      ),
    );
  }
  if (identity.app.name.length > WORKLOAD_NAME_MAX_CHARACTERS && intent.workload.protocol === "statefulset") {
    found.push(
      error(
        "resourceSelector.name",
        `'${identity.app.name}' has ${identity.app.name.length} characters; a StatefulSet's name ` +
          `may have ${WORKLOAD_NAME_MAX_CHARACTERS}`,
        "Choose a shorter name.",
      ),
    );
  }
  let index = ledger.nextIndex;
  const addresses = addressesOf(identity);
  for (const [cluster, replicas] of sizes) {
    const entry = ledger.clusters[cluster];
    const at = { index: entry?.index ?? index, start: entry?.start ?? firstOrdinal(identity, index) };
    if (!entry) index++;
    if (identity.mode !== "Dense" && replicas > identity.blockSize) {
      found.push(
        error(
          `topology.clusters[${cluster}].replicas`,
          `${replicas} instances do not fit into a block of ${identity.blockSize}`,
          "Spread them over more clusters, or choose a larger identity.blockSize before the first deployment.",
        ),
      );
    }
    const problem = longestAddress(intent, identity, addresses, ledger, cluster, at, replicas);
    if (problem)
      found.push(
        error(
          "identity.addressTemplate",
          `address of ${cluster}: ${problem}`,
          "Shorten the name, or set identity.clusterIDs and identity.addressTemplate.",
        ),
      );
  }
}

/** The highest ordinal has the longest name. */
function longestAddress(
  intent: Intent,
  identity: LedgerIdentity,
  addresses: ReturnType<typeof addressesOf>,
  ledger: Ledger,
  cluster: ClusterName,
  at: { index: number; start: number },
  replicas: number,
): string | undefined {
  if (replicas === 0) return undefined;
  const first = identity.mode === "Dense" ? ledger.nextOrdinal : rangeStart(identity, at.index);
  const ordinal = first + replicas - 1;
  const clusterId = ledger.clusters[cluster]?.clusterId ?? clusterIdOf(intent.identity.clusterIds, cluster);
  return addressProblem(addresses({ instance: localName(identity, at, ordinal), ordinal, clusterId }));
}

function rolloutProblems(
  intent: Intent,
  ledger: Ledger,
  update: RollingUpdate,
  sizes: ReadonlyMap<ClusterName, number>,
  found: Problem[],
): void {
  const total = [...sizes.values()].reduce((sum, each) => sum + each, 0);
  const { maxUnavailable } = update;
  if (typeof maxUnavailable === "number" ? !(maxUnavailable >= 1) : !PERCENTAGE.test(maxUnavailable)) {
    found.push(
      error(
        "updateStrategy.rollingUpdate.maxUnavailable",
        `${maxUnavailable} is neither a number from 1 up nor a percentage`,
        "Give 1 or more, or a percentage such as 20%.",
      ),
    );
  }
  if (update.partition > 0 && !intent.workload.hasPartition && sizes.size > 0) {
    partitionProblem(update.partition, sizes, found);
  }
  if (intent.memberConcurrency === "Parallel") parallelProblems(intent, update, sizes, total, found);
  const seen = new Set<ClusterName>();
  update.waves.forEach(({ clusters }, wave) => {
    for (const cluster of clusters) {
      const field = `updateStrategy.rollingUpdate.waves[${wave}].clusters`;
      if (seen.has(cluster))
        found.push(warning(field, `${cluster} is named by an earlier wave too; the first counts`, "Name it once."));
      else if (!Object.hasOwn(intent.fleet, cluster) && !Object.hasOwn(ledger.clusters, cluster)) {
        const like = nearest(cluster, Object.keys(intent.fleet));
        const hint = like === undefined ? "" : `; the nearest name is '${like}'`;
        found.push(
          error(
            field,
            `wave ${wave + 1} names '${cluster}', which the fleet does not have${hint}`,
            "Correct the name.",
          ),
        );
      } else if (intent.schedule.kind === "known" && !sizes.has(cluster)) {
        found.push(warning(field, `${cluster} is not in the schedule`, "Correct the name, or schedule the cluster."));
      }
      seen.add(cluster);
    }
  });
  if (update.batches.some((size) => !Number.isSafeInteger(size) || size < 1)) {
    found.push(
      error(
        "updateStrategy.rollingUpdate.batches",
        "a batch releases at least one instance",
        "Give whole numbers from 1 up.",
      ),
    );
  } else if (!intent.workload.hasPartition && update.batches.length > 0) {
    const largest = Math.max(0, ...sizes.values());
    if (Math.min(...update.batches) < largest) {
      found.push(
        warning(
          "updateStrategy.rollingUpdate.batches",
          `clusters cannot be released in part; a batch grows to a whole cluster of up to ${largest}`,
          "Use a member that has a partition, or larger batches.",
        ),
      );
    }
  }
}

function partitionProblem(partition: number, sizes: ReadonlyMap<ClusterName, number>, found: Problem[]): void {
  let rank = 0;
  for (const [cluster, replicas] of sizes) {
    if (rank < partition && partition < rank + replicas) {
      found.push(
        error(
          "updateStrategy.rollingUpdate.partition",
          `partition ${partition} cuts through ${cluster}, and this operator has no member ` +
            `partition: all of ${cluster} stays on the old revision`,
          `Use ${rank} or ${rank + replicas}, or an operator with a member partition.`,
        ),
      );
      return;
    }
    rank += replicas;
  }
}

function parallelProblems(
  intent: Intent,
  update: RollingUpdate,
  sizes: ReadonlyMap<ClusterName, number>,
  total: number,
  found: Problem[],
): void {
  const given = update.maxUnavailable;
  const most = typeof given === "number" ? given : Math.ceil((Number.parseFloat(given) * total) / 100);
  for (const [cluster, replicas] of sizes) {
    if (intent.workload.hasPartition) continue;
    if (replicas > Math.max(1, most)) {
      found.push(
        error(
          "updateStrategy.rollingUpdate.maxUnavailable",
          `${cluster} restarts its ${replicas} instances at once (memberConcurrency: Parallel), and ` +
            `maxUnavailable is ${most}`,
          `Raise maxUnavailable to ${replicas}, or have the operator restart one at a time.`,
        ),
      );
    }
    if (intent.quorum === "Majority" && total > 2 && total - replicas < majorityOf(total)) {
      found.push(
        error(
          "memberConcurrency",
          `${cluster} restarts its ${replicas} of ${total} instances at once, and the rest is no majority`,
          "Spread the instances so that no cluster holds a majority, or use memberConcurrency: Serial.",
        ),
      );
    }
  }
}

function scheduleProblems(
  intent: Intent,
  ledger: Ledger,
  sizes: ReadonlyMap<ClusterName, number>,
  found: Problem[],
): void {
  const total = [...sizes.values()].reduce((sum, each) => sum + each, 0);
  if (intent.quorum === "Majority" && (total === 1 || total === 2)) {
    found.push(
      warning(
        "replicas",
        `with ${total} instances the majority is all of them: every restart stops the application for a moment`,
        "Use 3 or more instances.",
      ),
    );
  }
  for (const cluster of intent.requests.confirmedLost) {
    if (intent.fleet[cluster]?.state === "Ready" && ledger.clusters[cluster]) {
      found.push(
        warning(
          "confirm-lost",
          `${cluster} is Ready; the confirmation has no effect while it is`,
          "Take the confirmation back.",
        ),
      );
    }
  }
}

function error(field: string, message: string, remedy: string): Problem {
  return { code: "SettingImpossible", severity: "error", field, message, remedy };
}

function warning(field: string, message: string, remedy: string): Problem {
  return { code: "SettingImpossible", severity: "warning", field, message, remedy };
}

function immutable(field: string, message: string): Problem {
  return {
    code: "IdentityImmutable",
    severity: "error",
    field,
    message,
    remedy: "Set it back; the recorded value stays in force.",
  };
}
