/**
 * A real Open Cluster Management on loopback: the hub and the members of test/stack, the hub's registration and
 * placement controllers, and in each member one agent that registers it and applies its ManifestWorks. No operators, no
 * webhooks.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeKubeconfig } from "../../../src/apiserver/front/kubeconfig.ts";
import type { KubeObject } from "../../stack/api.ts";
import { objectsIn, objectsOf } from "../../stack/api.ts";
import {
  agentOf,
  type Cluster,
  type Ground,
  HUB_CONTROLLERS,
  MEMBER_CONTROLLERS,
  type Say,
  type Stack,
  type StackOptions,
  startOn,
} from "../../stack/ground.ts";
import { ownAddress } from "../../stack/processes.ts";
import { moduleSource } from "../../tools/programs.ts";
import { createSigner } from "./signer.ts";

const OCM_PROGRAMS = ["ocm-registration", "ocm-placement", "ocm-klusterlet"] as const;
type Programs = Record<(typeof OCM_PROGRAMS)[number], string>;

const HUB_NAMESPACE = "open-cluster-management-hub";
const AGENT_NAMESPACE = "open-cluster-management-agent";
/** Registers clusters, and may do nothing else; the hub approves what it asks for. */
const BOOTSTRAP_USER = "lockstep-bootstrap";
/** The name by which the klusterlet's own manifests call its one account when both agents are one process. */
const AGENT_ACCOUNT = "klusterlet-work-sa";
/** Joining takes two to three seconds, and ten on a machine with four times as much to do as it can. */
const AGENT_READY_MS = 40_000;
const AGENT_STARTS = 2;
const PROBE = "boot-probe";
/** Without these no agent gets its certificate, however often it is started. */
const HUB_PROCESSES = ["ocm-registration", "hub-controllers"];
/** Of addresses that are each used once (ownAddress). */
const LISTEN_PORT = 8443;
const AGENT_TOKEN_SECONDS = 30 * 24 * 60 * 60;

/**
 * A cluster is Unknown five lease durations after its agent's last sign of life: five seconds instead of five minutes,
 * so that suites can see a cluster being lost.
 */
const LEASE_SECONDS = 1;

const MEMBER_CRDS = [
  "0000_01_work.open-cluster-management.io_appliedmanifestworks.crd.yaml",
  "0000_02_clusters.open-cluster-management.io_clusterclaims.crd.yaml",
  "clusterproperties.crd.yaml",
];

export async function startStack(
  folder: string,
  memberNames: string[],
  say: Say,
  options: StackOptions = {},
): Promise<Stack> {
  return startOn(folder, OCM_PROGRAMS, async (ground, programs) => {
    const manifests = join(await moduleSource("ocm"), "manifests");
    return new Boot(ground, programs, manifests, say).run(memberNames, options);
  });
}

class Boot {
  readonly ground: Ground;
  readonly programs: Programs;
  readonly manifests: string;
  readonly say: Say;

  constructor(ground: Ground, programs: Programs, manifests: string, say: Say) {
    this.ground = ground;
    this.programs = programs;
    this.manifests = manifests;
    this.say = say;
  }

  async run(
    memberNames: string[],
    { relays = false, reportsParts = false, agentFlags = {} }: StackOptions,
  ): Promise<Stack> {
    const { ground } = this;
    const signer = await createSigner("lockstep-signer");
    const etcd = await ground.startEtcd();
    this.say("etcd is up");
    const flags = [
      "--disable-admission-plugins=StorageObjectInUseProtection,ServiceAccount",
      ...this.#frontProxyFlags(),
    ];
    const [hub, ...members] = await Promise.all([
      ground.startCluster("hub", etcd, { flags, clientAuthorities: [signer.certificate] }),
      ...memberNames.map((name) => ground.startCluster(name, etcd, { flags })),
    ]);
    this.say(`${1 + members.length} API servers are up`);
    const signing = ground.certified("signer", signer);
    ground.startControllers(
      hub,
      [...HUB_CONTROLLERS, "certificatesigningrequest-signing-controller"],
      [`--cluster-signing-cert-file=${signing.certificate}`, `--cluster-signing-key-file=${signing.privateKey}`],
    );
    for (const member of members) ground.startControllers(member, MEMBER_CONTROLLERS);

    const [bootstrap] = await Promise.all([
      this.installHub(hub),
      ...members.map((member) => this.prepareMember(member)),
    ]);
    this.say("the hub's controllers are up");
    const gates = reportsParts ? ["--feature-gates=RawFeedbackJsonString=true"] : [];
    const flagsOf = ({ name }: Cluster) => [...gates, ...(agentFlags[name] ?? [])];
    await Promise.all(members.map((member) => this.join(hub, member, bootstrap, flagsOf(member))));
    this.say(`${members.length} clusters have joined and are Available`);
    ground.startKubelets(members);
    const ways = relays ? await Promise.all(members.map((member) => ground.startRelay(member))) : members;
    return ground.finish(hub, members, ways);
  }

  /** The kubeconfig with which agents ask to be registered. */
  async installHub(hub: Cluster): Promise<string> {
    const { processes, authority, folder } = this.ground;
    const crds = join(this.manifests, "cluster-manager", "hub", "crds");
    const definitions = readdirSync(crds).flatMap((file) => objectsIn(this.#rendered(join(crds, file))));
    await Promise.all(definitions.map((definition) => hub.api.apply(withoutConversion(definition))));
    await hub.api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: HUB_NAMESPACE } });
    for (const object of bootstrapRights()) await hub.api.apply(object);
    const kubeconfig = join(folder, "bootstrap.kubeconfig");
    const credentials = await authority.issueClient({ name: BOOTSTRAP_USER, groups: [] });
    await writeKubeconfig(kubeconfig, [
      { name: hub.name, server: hub.server, certificateAuthority: authority.certificate, credentials },
    ]);
    await this.ground.discovered(hub, definitions);

    const start = (name: keyof Programs, flags: string[]) =>
      processes.start(name, this.programs[name], [
        "controller",
        `--kubeconfig=${hub.kubeconfig}`,
        `--namespace=${HUB_NAMESPACE}`,
        "--disable-leader-election",
        `--listen=${ownAddress()}:${LISTEN_PORT}`,
        ...flags,
      ]);
    start("ocm-registration", [
      "--feature-gates=ManagedClusterAutoApproval=true",
      `--auto-approved-csr-users=${BOOTSTRAP_USER}`,
    ]);
    start("ocm-placement", []);
    return kubeconfig;
  }

  /** What a klusterlet's operator writes into a member before it starts the agent. */
  async prepareMember(member: Cluster): Promise<void> {
    const { api } = member;
    const managed = join(this.manifests, "klusterlet", "managed");
    const definitions = MEMBER_CRDS.flatMap((file) => objectsOf(join(managed, file)));
    await Promise.all(definitions.map((definition) => api.apply(definition)));
    await api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: AGENT_NAMESPACE } });
    const account = { name: AGENT_ACCOUNT, namespace: AGENT_NAMESPACE };
    await api.apply({ apiVersion: "v1", kind: "ServiceAccount", metadata: account });
    const folders = [managed, join(this.manifests, "klusterlet", "management")];
    const roles = folders.flatMap((folder) =>
      readdirSync(folder)
        .filter((file) => file.includes("role"))
        .flatMap((file) => objectsIn(this.#rendered(join(folder, file)))),
    );
    await Promise.all([...roles, aggregatedRole()].map((role) => api.apply(role)));
    await this.ground.discovered(member, definitions);
  }

  async join(hub: Cluster, member: Cluster, bootstrap: string, flags: string[]): Promise<void> {
    const { processes, folder, authority } = this.ground;
    const { name, server } = member;
    // Before its agent can: as soon as an agent has its certificate it may cancel the request that creates its cluster,
    // and has no right to send it again.
    await hub.api.apply({
      apiVersion: "cluster.open-cluster-management.io/v1",
      kind: "ManagedCluster",
      metadata: { name },
      spec: { hubAcceptsClient: true, leaseDurationSeconds: LEASE_SECONDS },
    });
    const path = `/apis/cluster.open-cluster-management.io/v1/managedclusters/${name}`;
    const kubeconfig = join(folder, `${name}-agent.kubeconfig`);
    const token = await agentToken(member);
    await writeKubeconfig(kubeconfig, [
      { name, server, certificateAuthority: authority.certificate, credentials: { token } },
    ]);
    const hubFolder = join(folder, `${name}-hub-kubeconfig`);
    const agent = agentOf(name);
    processes.start(agent, this.programs["ocm-klusterlet"], [
      "agent",
      `--kubeconfig=${kubeconfig}`,
      `--namespace=${AGENT_NAMESPACE}`,
      `--spoke-cluster-name=${name}`,
      `--agent-id=${name}-agent`,
      `--bootstrap-kubeconfig=${bootstrap}`,
      `--hub-kubeconfig-dir=${hubFolder}`,
      `--workload-source-config=${join(hubFolder, "kubeconfig")}`,
      "--disable-leader-election",
      `--listen=${ownAddress()}:${LISTEN_PORT}`,
      // Default: 60 s. A member whose API server is gone is noticed at the next health check.
      "--cluster-healthcheck-period=2s",
      ...flags,
    ]);
    interface ManagedCluster {
      status?: { conditions?: { type: string; status: string }[] };
    }
    const isAvailable = async () => {
      const conditions = (await hub.api.get<ManagedCluster>(path))?.status?.conditions ?? [];
      const holds = (type: string) => conditions.some((each) => each.type === type && each.status === "True");
      return ["HubAcceptedManagedCluster", "ManagedClusterJoined", "ManagedClusterConditionAvailable"].every(holds);
    };
    // The part of an agent that applies may fail alone; its cluster is still Available then.
    const works = `/apis/work.open-cluster-management.io/v1/namespaces/${name}/manifestworks`;
    const delivers = async () => {
      if (!(await isAvailable())) return false;
      const { status } = (await hub.api.apply(probeFor(name))) as ManagedCluster;
      return status?.conditions?.some((each) => each.type === "Applied" && each.status === "True") ?? false;
    };
    const isClean = async () => (await hub.api.get(`${works}/${PROBE}`)) === undefined;
    // A klusterlet relies on its kubelet: it ends when it cannot continue, and is started again.
    for (let attempt = 1; ; attempt++) {
      try {
        await processes.ready(agent, delivers, AGENT_READY_MS, HUB_PROCESSES);
        await hub.api.request("DELETE", `${works}/${PROBE}`);
        return await processes.ready(agent, isClean, AGENT_READY_MS, HUB_PROCESSES);
      } catch (error) {
        if (attempt === AGENT_STARTS) throw error;
        this.say(`${agent} is started again: ${error instanceof Error ? error.message.split(";")[0] : error}`);
        processes.revive(...HUB_PROCESSES);
        processes.kill(agent);
        processes.restart(agent);
      }
    }
  }

  /**
   * Nothing stands in front of these API servers. But the agents' own servers ask for the authority of such a proxy, and
   * fill their logs for as long as they do not find one.
   */
  #frontProxyFlags(): string[] {
    const { ground } = this;
    return [
      `--requestheader-client-ca-file=${ground.file("front-proxy-ca.crt", ground.authority.certificate)}`,
      "--requestheader-allowed-names=no-front-proxy",
      "--requestheader-username-headers=X-Remote-User",
      "--requestheader-group-headers=X-Remote-Group",
      "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    ];
  }

  /** The operators' manifests are Go templates: their labels are left out, and so is all that depends on a setting. */
  #rendered(file: string): string {
    const values: Record<string, string> = {
      KlusterletName: "klusterlet",
      KlusterletNamespace: AGENT_NAMESPACE,
      AgentNamespace: AGENT_NAMESPACE,
      RegistrationServiceAccount: AGENT_ACCOUNT,
      WorkServiceAccount: AGENT_ACCOUNT,
      ClusterManagerNamespace: HUB_NAMESPACE,
      AddonAPIServiceCABundle: '""',
    };
    return readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => !/\{\{-?\s*(?:if|range|end|else)\b/.test(line) && !line.includes("{{ $"))
      .join("\n")
      .replaceAll(/\{\{ ?\.(\w+) ?\}\}/g, (hole, name: string) => values[name] ?? hole);
  }
}

/** Delivered to a cluster, and removed again, before anything relies on its agent. */
function probeFor(cluster: string): KubeObject {
  const metadata = { name: PROBE, namespace: "default" };
  return {
    apiVersion: "work.open-cluster-management.io/v1",
    kind: "ManifestWork",
    metadata: { name: PROBE, namespace: cluster },
    spec: { workload: { manifests: [{ apiVersion: "v1", kind: "ConfigMap", metadata }] } },
  };
}

/** Some kinds are converted by a webhook of the operator's; here each is only ever written in one version. */
function withoutConversion(definition: KubeObject): KubeObject {
  const spec = definition.spec as Record<string, unknown>;
  return { ...definition, spec: { ...spec, conversion: { strategy: "None" } } };
}

function bootstrapRights(): KubeObject[] {
  const metadata = { name: "lockstep-bootstrap" };
  const rules = [
    {
      apiGroups: ["certificates.k8s.io"],
      resources: ["certificatesigningrequests"],
      verbs: ["create", "get", "list", "watch"],
    },
    {
      apiGroups: ["cluster.open-cluster-management.io"],
      resources: ["managedclusters"],
      verbs: ["create", "get", "list", "watch"],
    },
    {
      apiGroups: ["cluster.open-cluster-management.io"],
      resources: ["managedclustersets/join"],
      verbs: ["create"],
    },
  ];
  const apiVersion = "rbac.authorization.k8s.io/v1";
  return [
    { apiVersion, kind: "ClusterRole", metadata, rules },
    {
      apiVersion,
      kind: "ClusterRoleBinding",
      metadata,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: metadata.name },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: BOOTSTRAP_USER }],
    },
  ];
}

/** The operator makes this one in its code: it is in no manifest. */
function aggregatedRole(): KubeObject {
  const label = "open-cluster-management.io/aggregate-to-work";
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "open-cluster-management:klusterlet-work:aggregate" },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [label]: "true" } }] },
  };
}

/** A token and not a certificate: a certificate's common name has no room for the name of a ServiceAccount. */
async function agentToken({ name, api }: Cluster): Promise<string> {
  const path = `/api/v1/namespaces/${AGENT_NAMESPACE}/serviceaccounts/${AGENT_ACCOUNT}/token`;
  const spec = { expirationSeconds: AGENT_TOKEN_SECONDS };
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec };
  const { status, text } = await api.request("POST", path, body);
  if (status !== 201) throw new Error(`${name}: no token for the agent: ${status} ${text}`);
  const answer: { status: { token: string } } = JSON.parse(text);
  return answer.status.token;
}
