/**
 * What every stack stands on: one etcd, and for the hub and each member a real kube-apiserver with its controller
 * manager. Everything listens on loopback, is recorded by process id and lives in one folder. Only the kubelets are
 * simulated (kubelet.ts says so).
 */
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type CertificateAuthority,
  type CertifiedKey,
  createCertificateAuthority,
  type Identity,
} from "../../src/apiserver/front/certificates.ts";
import { type KubeconfigContext, writeKubeconfig } from "../../src/apiserver/front/kubeconfig.ts";
import { systemClock } from "../../src/runtime/index.ts";
import { ensurePrograms, type ProgramName } from "../tools/programs.ts";
import { Api, type KubeObject } from "./api.ts";
import type { KubeletSettings } from "./kubelet.ts";
import { freePorts, Processes, stopRecorded } from "./processes.ts";

export const READY_TIMEOUT_MS = 120_000;
// Short enough for suites, long enough that two overlapping restarts are seen as two.
const KUBELET_START_MS = 300;
const KUBELET_STOP_MS = 200;
export const HOSTS = ["127.0.0.1", "localhost"];
const ADMIN = { name: "system:admin", groups: ["system:masters"] };

export const HUB_CONTROLLERS = [
  "namespace-controller",
  "garbage-collector-controller",
  "serviceaccount-token-controller",
  "ttl-after-finished-controller",
  "clusterrole-aggregation-controller",
];
export const MEMBER_CONTROLLERS = [
  ...HUB_CONTROLLERS,
  "serviceaccount-controller",
  "root-ca-certificate-publisher-controller",
  "deployment-controller",
  "replicaset-controller",
  "statefulset-controller",
  "daemonset-controller",
  "job-controller",
  "disruption-controller",
  "endpointslice-controller",
  "pod-garbage-collector-controller",
  "resourcequota-controller",
  // Without it the deletion of a claim hangs on its finalizer.
  "persistentvolumeclaim-protection-controller",
];

/** The process that carries what the hub and this member say to each other. */
export const relayOf = (member: string) => `${member}-relay`;
/** The engine's agent in this member, if it has one. */
export const agentOf = (member: string) => `${member}-agent`;

/** A hub and its members, running. */
export interface Stack {
  readonly folder: string;
  readonly kubeconfig: string;
  readonly processes: Processes;
  readonly hub: Api;
  readonly members: Map<string, Api>;
  /** Where the hub's side finds each member: behind a relay, if there is one. */
  readonly ways: Map<string, string>;
  /** Whom all clusters trust: for certificates that differ from the usual ones. */
  readonly authority: CertificateAuthority;
  /** A kubeconfig for the hub with a certificate of this user's own. */
  kubeconfigOf(identity: Identity): Promise<string>;
  stop(): Promise<void>;
}

export interface Cluster {
  readonly name: string;
  readonly server: string;
  readonly admin: CertifiedKey;
  readonly kubeconfig: string;
  readonly api: Api;
}

export type Say = (line: string) => void;

export interface StackOptions {
  /** The hub's side reaches each member over a relay, so that the connection can be cut. */
  readonly relays?: boolean;
  /** The agents of Open Cluster Management report whole parts of objects, which their gate forbids by default. */
  readonly reportsParts?: boolean;
  /** More flags for the agents of these members, on Open Cluster Management. */
  readonly agentFlags?: Readonly<Record<string, readonly string[]>>;
  /** More flags for the hub's controller manager, on Karmada. */
  readonly managerFlags?: readonly string[];
}

const GROUND_PROGRAMS = ["etcd", "kube-apiserver", "kube-controller-manager"] as const;
type GroundProgram = (typeof GROUND_PROGRAMS)[number];

/** Builds what is missing, clears the folder, and boots; whatever was started is ended again when that fails. */
export async function startOn<Name extends ProgramName>(
  folder: string,
  names: readonly Name[],
  boot: (ground: Ground, programs: Record<Name, string>) => Promise<Stack>,
): Promise<Stack> {
  await stopRecorded(folder);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const ownPrograms = await ensurePrograms(GROUND_PROGRAMS);
  const programs = await ensurePrograms(names);
  const authority = await createCertificateAuthority("lockstep-stack", systemClock);
  try {
    return await boot(new Ground(folder, ownPrograms, authority), programs);
  } catch (error) {
    await stopRecorded(folder);
    throw error;
  }
}

export class Ground {
  readonly folder: string;
  readonly processes: Processes;
  readonly authority: CertificateAuthority;
  readonly #programs: Record<GroundProgram, string>;
  readonly #serviceAccounts: { private: string; public: string };

  constructor(folder: string, programs: Record<GroundProgram, string>, authority: CertificateAuthority) {
    this.folder = folder;
    this.processes = new Processes(folder);
    this.authority = authority;
    this.#programs = programs;
    this.#serviceAccounts = this.#serviceAccountKeys();
  }

  async startEtcd(name = "etcd", flags: string[] = []): Promise<string> {
    const [client = 0, peer = 0] = await freePorts(2);
    const url = `http://127.0.0.1:${client}`;
    const peerUrl = `http://127.0.0.1:${peer}`;
    this.processes.start(name, this.#programs.etcd, [
      `--data-dir=${join(this.folder, name)}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=default=${peerUrl}`,
      // The data lives as long as the stack; waiting for the disk would only slow every suite.
      "--unsafe-no-fsync",
      ...flags,
    ]);
    const probe = async () => (await fetch(`${url}/health`)).ok;
    await this.processes.ready(name, probe, READY_TIMEOUT_MS);
    return url;
  }

  /** An API server that trusts the stack's own authority, and these others, about who its clients are. */
  async startCluster(
    name: string,
    etcd: string,
    { flags = [], clientAuthorities = [] }: { flags?: string[]; clientAuthorities?: string[] } = {},
  ): Promise<Cluster> {
    const { authority } = this;
    const [port = 0] = await freePorts(1);
    const serving = this.certified(`${name}-server`, await authority.issueServer(HOSTS));
    const admin = await authority.issueClient(ADMIN);
    const server = `https://127.0.0.1:${port}`;
    const api = new Api(server, { ca: authority.certificate, cert: admin.certificate, key: admin.privateKey });
    const kubeconfig = join(this.folder, `${name}.kubeconfig`);
    await writeKubeconfig(kubeconfig, [this.#context({ name, server, admin })]);
    this.processes.start(`${name}-apiserver`, this.#programs["kube-apiserver"], [
      `--etcd-servers=${etcd}`,
      `--etcd-prefix=/${name}`,
      "--bind-address=127.0.0.1",
      `--secure-port=${port}`,
      "--advertise-address=192.0.2.1",
      "--endpoint-reconciler-type=none",
      "--authorization-mode=RBAC",
      `--client-ca-file=${this.file(`${name}-client-ca.crt`, [authority.certificate, ...clientAuthorities].join(""))}`,
      `--tls-cert-file=${serving.certificate}`,
      `--tls-private-key-file=${serving.privateKey}`,
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-account-key-file=${this.#serviceAccounts.public}`,
      `--service-account-signing-key-file=${this.#serviceAccounts.private}`,
      "--service-cluster-ip-range=10.96.0.0/16",
      "--profiling=false",
      ...flags,
    ]);
    await this.processes.ready(`${name}-apiserver`, () => api.ok("/readyz"), READY_TIMEOUT_MS);
    return { name, server, admin, kubeconfig, api };
  }

  startControllers(cluster: Cluster, controllers: string[], flags: string[] = []): void {
    this.processes.start(`${cluster.name}-controllers`, this.#programs["kube-controller-manager"], [
      `--kubeconfig=${cluster.kubeconfig}`,
      "--secure-port=0",
      "--leader-elect=false",
      `--controllers=${controllers.join(",")}`,
      `--root-ca-file=${this.file("ca.crt", this.authority.certificate)}`,
      `--service-account-private-key-file=${this.#serviceAccounts.private}`,
      // As an installer does it: the garbage collector and the namespace controller act as accounts of kube-system.
      "--use-service-account-credentials=true",
      ...flags,
    ]);
  }

  /** The cluster as it is reached over a network that can be cut. */
  async startRelay(cluster: Cluster): Promise<Cluster> {
    const { name, server, admin } = cluster;
    const [port = 0] = await freePorts(1);
    const program = new URL("./relay.mjs", import.meta.url).pathname;
    this.processes.start(relayOf(name), process.execPath, [program, String(port), new URL(server).port]);
    const over = { name, server: `https://127.0.0.1:${port}`, admin };
    const kubeconfig = join(this.folder, `${name}-relay.kubeconfig`);
    await writeKubeconfig(kubeconfig, [this.#context(over)]);
    const api = new Api(over.server, cluster.api.tls);
    await this.processes.ready(relayOf(name), () => api.ok("/readyz"), READY_TIMEOUT_MS);
    return { ...over, kubeconfig, api };
  }

  startKubelets(members: Cluster[], name = "simulated-kubelets"): void {
    const settings: KubeletSettings = {
      members: members.map(({ name, server, admin }) => ({
        name,
        server,
        ca: this.authority.certificate,
        cert: admin.certificate,
        key: admin.privateKey,
      })),
      startMs: KUBELET_START_MS,
      stopMs: KUBELET_STOP_MS,
    };
    this.processes.start(name, process.execPath, [
      "--import",
      import.meta.resolve("tsx"),
      new URL("./kubelet.ts", import.meta.url).pathname,
      this.file(`${name}.json`, JSON.stringify(settings)),
    ]);
  }

  /** A CRD is discovered some time after it was accepted, and controllers end where a kind is missing. */
  async discovered(cluster: Cluster, definitions: readonly KubeObject[]): Promise<void> {
    const wanted = definitions.flatMap(servedResources);
    const isDiscovered = async () => {
      const found = await cluster.api.discovered();
      return wanted.every((name) => found.has(name));
    };
    await this.processes.ready(`${cluster.name}-apiserver`, isDiscovered, READY_TIMEOUT_MS);
  }

  /** One kubeconfig for all of them, and what else a suite needs. */
  async finish(hub: Cluster, members: Cluster[], ways: readonly Cluster[]): Promise<Stack> {
    const { folder, processes, authority } = this;
    const kubeconfig = join(folder, "kubeconfig");
    const contexts = [hub, ...members].map((cluster) => this.#context(cluster));
    await writeKubeconfig(kubeconfig, contexts, hub.name);
    return {
      folder,
      kubeconfig,
      processes,
      hub: hub.api,
      members: new Map(members.map(({ name, api }) => [name, api])),
      ways: new Map(ways.map(({ name, server }) => [name, server])),
      authority,
      async kubeconfigOf(identity) {
        const path = join(folder, "people", `${identity.name.replaceAll(":", "-")}.kubeconfig`);
        const credentials = await authority.issueClient(identity);
        const { name, server } = hub;
        await writeKubeconfig(path, [{ name, server, certificateAuthority: authority.certificate, credentials }]);
        return path;
      },
      async stop() {
        await Promise.all([hub, ...members, ...ways].map(({ api }) => api.close()));
        await stopRecorded(folder);
      },
    };
  }

  certified(name: string, key: CertifiedKey, base = name): { folder: string; certificate: string; privateKey: string } {
    return {
      folder: join(this.folder, "pki", name),
      certificate: this.file(`${name}/${base}.crt`, key.certificate),
      privateKey: this.file(`${name}/${base}.key`, key.privateKey),
    };
  }

  file(name: string, content: string): string {
    const path = join(this.folder, "pki", name);
    mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 });
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  }

  #context({ name, server, admin }: Pick<Cluster, "name" | "server" | "admin">): KubeconfigContext {
    return { name, server, certificateAuthority: this.authority.certificate, credentials: admin };
  }

  #serviceAccountKeys(): { private: string; public: string } {
    const keys = generateKeyPairSync("rsa", {
      modulusLength: 2048,
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
    });
    return { private: this.file("sa.key", keys.privateKey), public: this.file("sa.pub", keys.publicKey) };
  }
}

/** What a CustomResourceDefinition makes the API server serve, as `group/version/plural`. */
function servedResources({ spec }: KubeObject): string[] {
  const { group, names, versions } = spec as {
    group: string;
    names: { plural: string };
    versions: { name: string; served: boolean }[];
  };
  return versions.filter(({ served }) => served).map(({ name }) => `${group}/${name}/${names.plural}`);
}
