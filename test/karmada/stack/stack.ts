/**
 * A real Karmada on loopback: one etcd, four real kube-apiservers (the hub and the members) with their
 * controller managers, and Karmada's own programs. Only the kubelets are simulated (kubelet.ts says so).
 */
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CertifiedKey, createCertificateAuthority } from "../../../src/apiserver/front/certificates.ts";
import { type KubeconfigContext, writeKubeconfig } from "../../../src/apiserver/front/kubeconfig.ts";
import { systemClock } from "../../../src/runtime/index.ts";
import { ensurePrograms, moduleSource } from "../../tools/programs.ts";
import { Api, type KubeObject, objectsOf } from "./api.ts";
import type { KubeletSettings } from "./kubelet.ts";
import { freePorts, Processes, stopRecorded } from "./processes.ts";

export const STACK_PROGRAMS = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "karmada-controller-manager",
  "karmada-scheduler",
  "karmada-webhook",
  "karmada-aggregated-apiserver",
  "karmadactl",
] as const;

const READY_TIMEOUT_MS = 120_000;
// Short enough for suites, long enough that two overlapping restarts are seen as two.
const KUBELET_START_MS = 300;
const KUBELET_STOP_MS = 200;
const HOSTS = ["127.0.0.1", "localhost"];
const ADMIN = { name: "system:admin", groups: ["system:masters"] };

const HUB_CONTROLLERS = [
  "namespace-controller",
  "garbage-collector-controller",
  "serviceaccount-token-controller",
  "ttl-after-finished-controller",
  "clusterrole-aggregation-controller",
];
const MEMBER_CONTROLLERS = [
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
  // Without it the deletion of a claim hangs on its finalizer.
  "persistentvolumeclaim-protection-controller",
];

export interface Stack {
  folder: string;
  kubeconfig: string;
  processes: Processes;
  hub: Api;
  members: Map<string, Api>;
  stop(): Promise<void>;
}

export async function startStack(folder: string, memberNames: string[], say: (line: string) => void): Promise<Stack> {
  await stopRecorded(folder);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const programs = await ensurePrograms(STACK_PROGRAMS);
  const source = await moduleSource("karmada");
  const processes = new Processes(folder);
  try {
    return await new Boot(folder, programs, source, processes, say).run(memberNames);
  } catch (error) {
    await stopRecorded(folder);
    throw error;
  }
}

type Programs = Awaited<ReturnType<typeof ensurePrograms<(typeof STACK_PROGRAMS)[number]>>>;

interface Cluster {
  name: string;
  server: string;
  admin: CertifiedKey;
  kubeconfig: string;
  api: Api;
}

class Boot {
  readonly folder: string;
  readonly programs: Programs;
  readonly source: string;
  readonly processes: Processes;
  readonly say: (line: string) => void;

  constructor(folder: string, programs: Programs, source: string, processes: Processes, say: (line: string) => void) {
    this.folder = folder;
    this.programs = programs;
    this.source = source;
    this.processes = processes;
    this.say = say;
  }

  async run(memberNames: string[]): Promise<Stack> {
    const authority = await createCertificateAuthority("lockstep-karmada", systemClock);
    const caFile = this.file("ca.crt", authority.certificate);
    const serviceAccounts = this.serviceAccountKeys();

    const etcd = await this.startEtcd();
    this.say("etcd is up");
    const start = async (name: string, extra: string[]): Promise<Cluster> => {
      const [port = 0] = await freePorts(1);
      const serving = this.certified(`${name}-server`, await authority.issueServer(HOSTS));
      const admin = await authority.issueClient(ADMIN);
      const server = `https://127.0.0.1:${port}`;
      const api = new Api(server, { ca: authority.certificate, cert: admin.certificate, key: admin.privateKey });
      const kubeconfig = join(this.folder, `${name}.kubeconfig`);
      await writeKubeconfig(kubeconfig, [
        { name, server, certificateAuthority: authority.certificate, credentials: admin },
      ]);
      this.processes.start(`${name}-apiserver`, this.programs["kube-apiserver"], [
        `--etcd-servers=${etcd}`,
        `--etcd-prefix=/${name}`,
        "--bind-address=127.0.0.1",
        `--secure-port=${port}`,
        "--advertise-address=192.0.2.1",
        "--endpoint-reconciler-type=none",
        "--authorization-mode=RBAC",
        `--client-ca-file=${caFile}`,
        `--tls-cert-file=${serving.certificate}`,
        `--tls-private-key-file=${serving.privateKey}`,
        "--service-account-issuer=https://kubernetes.default.svc",
        `--service-account-key-file=${serviceAccounts.public}`,
        `--service-account-signing-key-file=${serviceAccounts.private}`,
        "--service-cluster-ip-range=10.96.0.0/16",
        "--profiling=false",
        ...extra,
      ]);
      await this.processes.ready(`${name}-apiserver`, () => api.ok("/readyz"), READY_TIMEOUT_MS);
      return { name, server, admin, kubeconfig, api };
    };
    const startControllers = (cluster: Cluster, controllers: string[]) => {
      this.processes.start(`${cluster.name}-controllers`, this.programs["kube-controller-manager"], [
        `--kubeconfig=${cluster.kubeconfig}`,
        "--secure-port=0",
        "--leader-elect=false",
        `--controllers=${controllers.join(",")}`,
        `--root-ca-file=${caFile}`,
        `--service-account-private-key-file=${serviceAccounts.private}`,
        "--use-service-account-credentials=false",
      ]);
    };

    const frontProxy = await createCertificateAuthority("lockstep-front-proxy", systemClock);
    const proxyClient = this.certified(
      "front-proxy-client",
      await frontProxy.issueClient({ name: "front-proxy-client", groups: [] }),
    );
    const [hub, ...members] = await Promise.all([
      start("hub", [
        "--disable-admission-plugins=StorageObjectInUseProtection,ServiceAccount",
        "--enable-bootstrap-token-auth",
        `--proxy-client-cert-file=${proxyClient.certificate}`,
        `--proxy-client-key-file=${proxyClient.privateKey}`,
        `--requestheader-client-ca-file=${this.file("front-proxy-ca.crt", frontProxy.certificate)}`,
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-username-headers=X-Remote-User",
      ]),
      ...memberNames.map((name) => start(name, ["--disable-admission-plugins=ServiceAccount"])),
    ]);
    this.say(`${1 + members.length} API servers are up`);
    startControllers(hub, HUB_CONTROLLERS);
    for (const member of members) startControllers(member, MEMBER_CONTROLLERS);

    await this.installKarmada(hub, etcd, authority.certificate, (hosts) => authority.issueServer(hosts));
    this.say("Karmada is up");
    await Promise.all(members.map((member) => this.join(hub, member)));
    this.say(`${members.length} members have joined and are Ready`);
    this.startKubelets(members, authority.certificate);

    const kubeconfig = join(this.folder, "kubeconfig");
    const contexts: KubeconfigContext[] = [hub, ...members].map(({ name, server, admin }) => ({
      name,
      server,
      certificateAuthority: authority.certificate,
      credentials: admin,
    }));
    await writeKubeconfig(kubeconfig, contexts, "hub");
    const { folder, processes } = this;
    return {
      folder,
      kubeconfig,
      processes,
      hub: hub.api,
      members: new Map(members.map(({ name, api }) => [name, api])),
      async stop() {
        await Promise.all([hub, ...members].map(({ api }) => api.close()));
        await stopRecorded(folder);
      },
    };
  }

  async startEtcd(): Promise<string> {
    const [client = 0, peer = 0] = await freePorts(2);
    const url = `http://127.0.0.1:${client}`;
    const peerUrl = `http://127.0.0.1:${peer}`;
    this.processes.start("etcd", this.programs.etcd, [
      `--data-dir=${join(this.folder, "etcd")}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=default=${peerUrl}`,
      // The data lives as long as the stack; waiting for the disk would only slow every suite.
      "--unsafe-no-fsync",
    ]);
    const probe = async () => (await fetch(`${url}/health`)).ok;
    await this.processes.ready("etcd", probe, READY_TIMEOUT_MS);
    return url;
  }

  async installKarmada(
    hub: Cluster,
    etcd: string,
    caPem: string,
    issueServer: (hosts: string[]) => Promise<CertifiedKey>,
  ): Promise<void> {
    const [aggregated = 0, webhook = 0, managerHealth = 0, schedulerHealth = 0, webhookHealth = 0] = await freePorts(5);
    const names = ["karmada-aggregated-apiserver", "karmada-webhook"].map((name) => `${name}.karmada-system.svc`);
    const serving = this.certified("karmada-server", await issueServer([...HOSTS, ...names]), "tls");
    const caBundle = Buffer.from(caPem).toString("base64");
    const manifests = join(this.source, "artifacts", "deploy");

    this.processes.start("karmada-aggregated-apiserver", this.programs["karmada-aggregated-apiserver"], [
      `--kubeconfig=${hub.kubeconfig}`,
      `--authentication-kubeconfig=${hub.kubeconfig}`,
      `--authorization-kubeconfig=${hub.kubeconfig}`,
      `--etcd-servers=${etcd}`,
      "--etcd-prefix=/karmada-aggregated",
      `--tls-cert-file=${serving.certificate}`,
      `--tls-private-key-file=${serving.privateKey}`,
      "--bind-address=127.0.0.1",
      `--secure-port=${aggregated}`,
    ]);
    for (const object of objectsOf(join(manifests, "namespace.yaml"))) await hub.api.apply(object);
    const crds = join(this.source, "charts", "karmada", "_crds", "bases");
    const files = readdirSync(crds, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".yaml"));
    const definitions = files.flatMap((file) => objectsOf(join(crds, file)));
    await Promise.all(definitions.map((object) => hub.api.apply(object)));

    this.processes.start("karmada-webhook", this.programs["karmada-webhook"], [
      `--kubeconfig=${hub.kubeconfig}`,
      "--bind-address=127.0.0.1",
      `--secure-port=${webhook}`,
      `--cert-dir=${serving.folder}`,
      "--metrics-bind-address=0",
      `--health-probe-bind-address=127.0.0.1:${webhookHealth}`,
    ]);
    for (const object of objectsOf(join(manifests, "karmada-aggregated-apiserver-apiservice.yaml"), {
      "{{caBundle}}": caBundle,
      "karmada-aggregated-apiserver.karmada-system.svc.cluster.local": "localhost",
      "    namespace: karmada-system\n  version": `    namespace: karmada-system\n    port: ${aggregated}\n  version`,
    })) {
      await hub.api.apply(object);
    }
    const webhookApi = new Api(`https://127.0.0.1:${webhook}`, { ca: caPem, cert: "", key: "" });
    await this.processes.ready("karmada-webhook", () => webhookApi.ok("/readyz/"), READY_TIMEOUT_MS);
    await webhookApi.close();
    for (const object of objectsOf(join(manifests, "webhook-configuration.yaml"), {
      "{{caBundle}}": caBundle,
      "https://karmada-webhook.karmada-system.svc:443": `https://127.0.0.1:${webhook}`,
    })) {
      await hub.api.apply(object);
    }
    for (const object of objectsOf(join(manifests, "cluster-proxy-admin-rbac.yaml"))) await hub.api.apply(object);
    await this.processes.ready(
      "karmada-aggregated-apiserver",
      () => hub.api.ok("/apis/cluster.karmada.io/v1alpha1/clusters"),
      READY_TIMEOUT_MS,
    );

    // A CRD is discovered some time after it was accepted, and Karmada's controllers end where a kind is missing.
    const wanted = definitions.flatMap(servedResources);
    const isDiscovered = async () => {
      const found = await hub.api.discovered();
      return wanted.every((name) => found.has(name));
    };
    await this.processes.ready("hub-apiserver", isDiscovered, READY_TIMEOUT_MS);

    this.processes.start("karmada-controller-manager", this.programs["karmada-controller-manager"], [
      `--kubeconfig=${hub.kubeconfig}`,
      "--leader-elect=false",
      "--metrics-bind-address=0",
      `--health-probe-bind-address=127.0.0.1:${managerHealth}`,
    ]);
    this.processes.start("karmada-scheduler", this.programs["karmada-scheduler"], [
      `--kubeconfig=${hub.kubeconfig}`,
      "--leader-elect=false",
      "--metrics-bind-address=0",
      `--health-probe-bind-address=127.0.0.1:${schedulerHealth}`,
    ]);
    const healthy = (port: number) => async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok;
    await this.processes.ready("karmada-controller-manager", healthy(managerHealth), READY_TIMEOUT_MS);
    await this.processes.ready("karmada-scheduler", healthy(schedulerHealth), READY_TIMEOUT_MS);
  }

  async join(hub: Cluster, member: Cluster): Promise<void> {
    const name = `join-${member.name}`;
    this.processes.start(name, this.programs.karmadactl, [
      "join",
      member.name,
      `--kubeconfig=${hub.kubeconfig}`,
      "--karmada-context=hub",
      `--cluster-kubeconfig=${member.kubeconfig}`,
      `--cluster-context=${member.name}`,
    ]);
    interface ClusterObject {
      status?: { conditions?: { type: string; status: string }[] };
    }
    const ready = async () => {
      const cluster = await hub.api.get<ClusterObject>(`/apis/cluster.karmada.io/v1alpha1/clusters/${member.name}`);
      const conditions = cluster?.status?.conditions ?? [];
      return conditions.some(({ type, status }) => type === "Ready" && status === "True");
    };
    await this.processes.ready(name, ready, READY_TIMEOUT_MS);
  }

  startKubelets(members: Cluster[], ca: string): void {
    const settings: KubeletSettings = {
      members: members.map(({ name, server, admin }) => ({
        name,
        server,
        ca,
        cert: admin.certificate,
        key: admin.privateKey,
      })),
      startMs: KUBELET_START_MS,
      stopMs: KUBELET_STOP_MS,
    };
    this.processes.start("simulated-kubelets", process.execPath, [
      "--import",
      import.meta.resolve("tsx"),
      new URL("./kubelet.ts", import.meta.url).pathname,
      this.file("kubelets.json", JSON.stringify(settings)),
    ]);
  }

  serviceAccountKeys(): { private: string; public: string } {
    const keys = generateKeyPairSync("rsa", {
      modulusLength: 2048,
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
    });
    return { private: this.file("sa.key", keys.privateKey), public: this.file("sa.pub", keys.publicKey) };
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
