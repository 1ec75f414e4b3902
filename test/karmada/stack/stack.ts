/**
 * A real Karmada on loopback: the hub and the members of test/stack, and Karmada's own programs.
 */
import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
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
  "karmada-agent",
  "karmadactl",
] as const;

type Programs = Record<(typeof KARMADA_PROGRAMS)[number], string>;

/** A lost cluster, and one that is back, are noticed within seconds; by default each takes more than half a minute. */
export const QUICK_LOSS = [
  "--cluster-status-update-frequency=2s",
  "--cluster-failure-threshold=4s",
  "--cluster-success-threshold=2s",
];

export interface KarmadaStack extends Stack {
  /** The address of the hub's own etcd, whose process is called `hub-etcd`. */
  readonly hubEtcd: string;
  /** Starts one more cluster, which joins in push mode. */
  addMember(name: string): Promise<void>;
  /** Runs karmadactl against the hub, such as `cordon member1`; resolves to what it printed. */
  karmadactl(...args: string[]): Promise<string>;
  /** Lets a cluster go, as an administrator does: Karmada deletes what it has propagated there. */
  unjoin(name: string): Promise<void>;
}

export interface KarmadaOptions extends StackOptions {
  /** Members that an agent of Karmada serves, which pulls their Works; all others are in push mode. */
  readonly pulled?: readonly string[];
}

/** So much that a suite never fills it by itself, and so little that a test can. */
const HUB_ETCD_BYTES = 256 * 1024 * 1024;
const MEMBER_FLAGS = ["--disable-admission-plugins=ServiceAccount"];

export async function startStack(
  folder: string,
  memberNames: string[],
  say: Say,
  options: KarmadaOptions = {},
): Promise<KarmadaStack> {
  let boot: Boot | undefined;
  const stack = await startOn(folder, KARMADA_PROGRAMS, async (ground, programs) => {
    boot = new Boot(ground, programs, await moduleSource("karmada"), say, options.managerFlags ?? []);
    return boot.run(memberNames, options);
  });
  if (!boot) throw new Error("the stack did not boot");
  return boot.later(stack);
}

class Boot {
  readonly ground: Ground;
  readonly processes: Processes;
  readonly programs: Programs;
  readonly source: string;
  readonly say: Say;
  readonly managerFlags: readonly string[];
  #hub: Cluster | undefined;
  /** For the hub, which has one of its own, as a real hub does; and for all members. */
  #etcds = { hub: "", members: "" };

  constructor(ground: Ground, programs: Programs, source: string, say: Say, managerFlags: readonly string[]) {
    this.ground = ground;
    this.processes = ground.processes;
    this.programs = programs;
    this.source = source;
    this.say = say;
    this.managerFlags = managerFlags;
  }

  async run(memberNames: string[], { relays = false, pulled = [] }: KarmadaOptions): Promise<Stack> {
    const { ground } = this;
    const hubEtcd = await ground.startEtcd("hub-etcd", [`--quota-backend-bytes=${HUB_ETCD_BYTES}`]);
    const etcd = await ground.startEtcd();
    this.#etcds = { hub: hubEtcd, members: etcd };
    this.say("etcd is up, one for the hub and one for all members");
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
    const [hub, ...members] = await Promise.all([
      ground.startCluster("hub", hubEtcd, { flags: hubFlags }),
      ...memberNames.map((name) => ground.startCluster(name, etcd, { flags: MEMBER_FLAGS })),
    ]);
    this.say(`${1 + members.length} API servers are up`);
    ground.startControllers(hub, HUB_CONTROLLERS);
    for (const member of members) ground.startControllers(member, MEMBER_CONTROLLERS);

    await this.installKarmada(hub, hubEtcd);
    this.say("Karmada is up");
    this.#hub = hub;
    const ways = relays ? await Promise.all(members.map((member) => ground.startRelay(member))) : members;
    await Promise.all(
      ways.map((member) => (pulled.includes(member.name) ? this.pull(hub, member) : this.join(hub, member))),
    );
    this.say(`${members.length} members have joined and are Ready`);
    ground.startKubelets(members);
    return ground.finish(hub, members, ways);
  }

  /** The stack, with what can be done to its fleet afterwards. */
  later(stack: Stack): KarmadaStack {
    const { ground } = this;
    const hub = this.#hub;
    if (!hub) throw new Error("the hub did not boot");
    return {
      ...stack,
      hubEtcd: this.#etcds.hub,
      addMember: async (name) => {
        const member = await ground.startCluster(name, this.#etcds.members, { flags: MEMBER_FLAGS });
        ground.startControllers(member, MEMBER_CONTROLLERS);
        await this.join(hub, member);
        ground.startKubelets([member], `simulated-kubelet-${name}`);
        stack.members.set(name, member.api);
      },
      karmadactl: async (...args) => {
        const flags = [`--kubeconfig=${hub.kubeconfig}`, "--karmada-context=hub"];
        return (await promisify(execFile)(this.programs.karmadactl, [...args, ...flags])).stdout;
      },
      unjoin: async (name) => {
        const flags = [`--kubeconfig=${hub.kubeconfig}`, "--karmada-context=hub"];
        const member = [
          `--cluster-kubeconfig=${join(ground.folder, `${name}.kubeconfig`)}`,
          `--cluster-context=${name}`,
        ];
        this.processes.start(`unjoin-${name}`, this.programs.karmadactl, ["unjoin", name, ...flags, ...member]);
        const isGone = async () =>
          (await hub.api.get(`/apis/cluster.karmada.io/v1alpha1/clusters/${name}`)) === undefined;
        await this.processes.ready(`unjoin-${name}`, isGone, READY_TIMEOUT_MS);
        stack.members.delete(name);
      },
    };
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
    await this.#isReady(name, hub, member);
  }

  /** Karmada's agent beside the member registers it, and pulls its Works. */
  async pull(hub: Cluster, member: Cluster): Promise<void> {
    const [health = 0] = await freePorts(1);
    const name = `${member.name}-agent`;
    const flags = [
      `--karmada-kubeconfig=${hub.kubeconfig}`,
      "--karmada-context=hub",
      `--cluster-name=${member.name}`,
      `--cluster-api-endpoint=${member.server}`,
      "--leader-elect=false",
      "--metrics-bind-address=0",
      `--health-probe-bind-address=127.0.0.1:${health}`,
    ];
    this.processes.start(name, this.programs["karmada-agent"], flags, { KUBECONFIG: member.kubeconfig });
    await this.#isReady(name, hub, member);
  }

  async #isReady(name: string, hub: Cluster, member: Cluster): Promise<void> {
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
