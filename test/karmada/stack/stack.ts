/**
 * A real Karmada on loopback: the hub and the members of test/stack, and Karmada's own programs.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createCertificateAuthority } from "../../../src/apiserver/front/certificates.ts";
import { systemClock } from "../../../src/runtime/index.ts";
import { Api, objectsOf } from "../../stack/api.ts";
import {
  type Cluster,
  type Ground,
  HOSTS,
  HUB_CONTROLLERS,
  MEMBER_CONTROLLERS,
  READY_TIMEOUT_MS,
  type Say,
  type Stack,
  type StackOptions,
  startOn,
} from "../../stack/ground.ts";
import { freePorts, type Processes } from "../../stack/processes.ts";
import { moduleSource } from "../../tools/programs.ts";

const KARMADA_PROGRAMS = [
  "karmada-controller-manager",
  "karmada-scheduler",
  "karmada-webhook",
  "karmada-aggregated-apiserver",
  "karmadactl",
] as const;

type Programs = Record<(typeof KARMADA_PROGRAMS)[number], string>;

/** A lost cluster, and one that is back, are noticed within seconds; by default each takes more than half a minute. */
export const QUICK_LOSS = [
  "--cluster-status-update-frequency=2s",
  "--cluster-failure-threshold=4s",
  "--cluster-success-threshold=2s",
];

export async function startStack(
  folder: string,
  memberNames: string[],
  say: Say,
  options: StackOptions = {},
): Promise<Stack> {
  return startOn(folder, KARMADA_PROGRAMS, async (ground, programs) => {
    const source = await moduleSource("karmada");
    return new Boot(ground, programs, source, say, options.managerFlags ?? []).run(memberNames, options);
  });
}

class Boot {
  readonly ground: Ground;
  readonly processes: Processes;
  readonly programs: Programs;
  readonly source: string;
  readonly say: Say;
  readonly managerFlags: readonly string[];

  constructor(ground: Ground, programs: Programs, source: string, say: Say, managerFlags: readonly string[]) {
    this.ground = ground;
    this.processes = ground.processes;
    this.programs = programs;
    this.source = source;
    this.say = say;
    this.managerFlags = managerFlags;
  }

  async run(memberNames: string[], { relays = false }: StackOptions): Promise<Stack> {
    const { ground } = this;
    const etcd = await ground.startEtcd();
    this.say("etcd is up");
    const frontProxy = await createCertificateAuthority("lockstep-front-proxy", systemClock);
    const proxyClient = ground.certified(
      "front-proxy-client",
      await frontProxy.issueClient({ name: "front-proxy-client", groups: [] }),
    );
    const hubFlags = [
      "--disable-admission-plugins=StorageObjectInUseProtection,ServiceAccount",
      "--enable-bootstrap-token-auth",
      `--proxy-client-cert-file=${proxyClient.certificate}`,
      `--proxy-client-key-file=${proxyClient.privateKey}`,
      `--requestheader-client-ca-file=${ground.file("front-proxy-ca.crt", frontProxy.certificate)}`,
      "--requestheader-allowed-names=front-proxy-client",
      "--requestheader-extra-headers-prefix=X-Remote-Extra-",
      "--requestheader-group-headers=X-Remote-Group",
      "--requestheader-username-headers=X-Remote-User",
    ];
    const memberFlags = ["--disable-admission-plugins=ServiceAccount"];
    const [hub, ...members] = await Promise.all([
      ground.startCluster("hub", etcd, { flags: hubFlags }),
      ...memberNames.map((name) => ground.startCluster(name, etcd, { flags: memberFlags })),
    ]);
    this.say(`${1 + members.length} API servers are up`);
    ground.startControllers(hub, HUB_CONTROLLERS);
    for (const member of members) ground.startControllers(member, MEMBER_CONTROLLERS);

    await this.installKarmada(hub, etcd);
    this.say("Karmada is up");
    const ways = relays ? await Promise.all(members.map((member) => ground.startRelay(member))) : members;
    await Promise.all(ways.map((member) => this.join(hub, member)));
    this.say(`${members.length} members have joined and are Ready`);
    ground.startKubelets(members);
    return ground.finish(hub, members, ways);
  }

  async installKarmada(hub: Cluster, etcd: string): Promise<void> {
    const { authority } = this.ground;
    const [aggregated = 0, webhook = 0, managerHealth = 0, schedulerHealth = 0, webhookHealth = 0] = await freePorts(5);
    const names = ["karmada-aggregated-apiserver", "karmada-webhook"].map((name) => `${name}.karmada-system.svc`);
    const serving = this.ground.certified("karmada-server", await authority.issueServer([...HOSTS, ...names]), "tls");
    const caBundle = Buffer.from(authority.certificate).toString("base64");
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
    const webhookApi = new Api(`https://127.0.0.1:${webhook}`, { ca: authority.certificate, cert: "", key: "" });
    await this.processes.ready("karmada-webhook", () => webhookApi.ok("/readyz/"), READY_TIMEOUT_MS);
    await webhookApi.close();
    for (const object of objectsOf(join(manifests, "webhook-configuration.yaml"), {
      "{{caBundle}}": caBundle,
      "https://karmada-webhook.karmada-system.svc:443": `https://127.0.0.1:${webhook}`,
    })) {
      await hub.api.apply(object);
    }
    for (const file of ["cluster-proxy-admin-rbac.yaml", "admin-clusterrole-aggregation.yaml"]) {
      for (const object of objectsOf(join(manifests, file))) await hub.api.apply(object);
    }
    await this.processes.ready(
      "karmada-aggregated-apiserver",
      () => hub.api.ok("/apis/cluster.karmada.io/v1alpha1/clusters"),
      READY_TIMEOUT_MS,
    );

    await this.ground.discovered(hub, definitions);
    this.processes.start("karmada-controller-manager", this.programs["karmada-controller-manager"], [
      `--kubeconfig=${hub.kubeconfig}`,
      "--leader-elect=false",
      "--metrics-bind-address=0",
      `--health-probe-bind-address=127.0.0.1:${managerHealth}`,
      ...this.managerFlags,
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
}
