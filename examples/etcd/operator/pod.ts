/** The objects of one member of etcd: its pod and its claim. */

import type { Grant, InstanceView, MemberObject } from "lockstep/sdk";
import { isJsonObject, type JsonObject } from "lockstep/sdk";
import { peerUrl } from "./etcd.ts";

export const LABELS = {
  cluster: "example.io/cluster",
  /** For a Service that gives the instance its address. */
  instance: "example.io/instance",
  revision: "example.io/revision",
} as const;
/** Where a container finds its volumes. */
const MOUNTS = { data: "/var/lib/etcd", tls: "/etc/etcd/tls" } as const;
/** Where a member listens that has an address of its own: on all addresses of its pod. */
export const EVERYWHERE = "0.0.0.0";

/** On a claim: what its member runs, so that it can return exactly as it was. */
export const RUNS = "example.io/runs";

/** What one member runs. */
export interface Runs {
  readonly revision: string;
  readonly image: string;
  readonly args: readonly string[];
}

/** Where and with what a member starts, outside Lockstep's contract. */
export interface Surroundings {
  /** The command for an image; in a cluster with a container runtime, `["etcd"]` for all. */
  readonly command: (image: string) => readonly string[];
  /** Where a member listens; in a cluster, `EVERYWHERE`. */
  readonly listen: (instance: string) => string;
  /** Where a process finds a volume that is not mounted; in a cluster, all of them are. */
  readonly folder?: (volume: keyof typeof MOUNTS) => string;
}

/** Only what belongs to an object may be changed on its behalf: another pod can have the name of an instance. */
export function isOf({ metadata }: MemberObject, owner: MemberObject): boolean {
  const { ownerReferences } = metadata;
  const uid = owner.metadata.uid;
  return (
    uid !== undefined &&
    Array.isArray(ownerReferences) &&
    ownerReferences.some((each) => isJsonObject(each) && each.controller === true && each.uid === uid)
  );
}

export function claimName(instance: string): string {
  return `data-${instance}`;
}

export function claimOf(instance: string, runs: Runs): JsonObject {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: claimName(instance), annotations: { [RUNS]: JSON.stringify(runs) } },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  };
}

export function podOf(
  owner: MemberObject,
  { name, address }: Pick<InstanceView, "name" | "address">,
  runs: Runs,
  claim: MemberObject,
  grant: Grant,
  { command, listen, folder = (volume) => MOUNTS[volume] }: Surroundings,
): JsonObject {
  const members = (grant.initialCluster ?? "").split(",").map((pair) => pair.split("="));
  const host = listen(name);
  const tls = folder("tls");
  const flags = {
    name,
    // Of this claim: a claim that replaces a lost one starts empty.
    "data-dir": `${folder("data")}/${claim.metadata.uid}`,
    "listen-client-urls": `http://${host}:2379`,
    "advertise-client-urls": `http://${address}:2379`,
    "listen-peer-urls": `https://${host}:2380`,
    "initial-advertise-peer-urls": peerUrl(address),
    "initial-cluster": members.map(([member, at]) => `${member}=${peerUrl(at ?? "")}`).join(","),
    "initial-cluster-state": grant.initialClusterState ?? "existing",
    "initial-cluster-token": grant.clusterToken ?? "",
    // Peers prove who they are to each other.
    "peer-cert-file": `${tls}/tls.crt`,
    "peer-key-file": `${tls}/tls.key`,
    "peer-trusted-ca-file": `${tls}/ca.crt`,
    "peer-client-cert-auth": "true",
  };
  const { apiVersion, kind, metadata } = owner;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      labels: {
        [LABELS.cluster]: metadata.name,
        [LABELS.instance]: name,
        [LABELS.revision]: runs.revision,
      },
      ownerReferences: [
        {
          apiVersion: String(apiVersion),
          kind: String(kind),
          name: metadata.name,
          uid: metadata.uid ?? "",
          controller: true,
        },
      ],
    },
    spec: {
      containers: [
        {
          name: "etcd",
          image: runs.image,
          command: [
            ...command(runs.image),
            ...Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`),
            ...runs.args,
          ],
          // Without a host, the node asks at the pod's own address.
          readinessProbe: {
            httpGet: { ...(host !== EVERYWHERE && { host }), port: 2379, path: "/readyz" },
            periodSeconds: 1,
          },
          volumeMounts: Object.entries(MOUNTS).map(([volume, mountPath]) => ({ name: volume, mountPath })),
        },
      ],
      volumes: [
        { name: "data", persistentVolumeClaim: { claimName: claimName(name) } },
        { name: "tls", secret: { secretName: `${name}-tls` } },
      ],
    },
  };
}
