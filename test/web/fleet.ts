/** A fleet with a database on it, its dashboard, and a wire between browser and dashboard that a test can cut. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { admissionPolicies, DEFAULT_POLICY_SETTINGS, DEFAULT_SYSTEM_NAMESPACE } from "../../src/api/index.ts";
import { type SecureFront, startSecureFront, writeKubeconfig } from "../../src/apiserver/front/index.ts";
import {
  applyHold,
  applyTemplate,
  EXAMPLE_WORKLOADS,
  isHeld,
  STATEFULSETS,
  XLINE_EXAMPLE,
} from "../../src/cli/commands/up/example.ts";
import { type ServedDashboard, serveDashboard } from "../../src/cli/dashboard/serve.ts";
import { runManager } from "../../src/controllers/index.ts";
import { EmbeddedFleet, startXline } from "../../src/embedded/index.ts";
import { KarmadaEngine } from "../../src/engine/index.ts";
import { httpWebhookTransports } from "../../src/interpret/index.ts";
import type { KubeClient, KubeObject } from "../../src/kube/index.ts";
import {
  systemClock as clock,
  isJsonObject,
  type JsonObject,
  systemRandom as random,
  silentLog,
} from "../../src/runtime/index.ts";

import { Wire } from "./wire.ts";

export const MEMBERS = ["member1", "member2", "member3"];
export const APP = XLINE_EXAMPLE.at;
export const OPERATOR_TOKEN = "token-of-olga-the-operator";
export const VIEWER_TOKEN = "token-of-vera-the-viewer";
/** May look, and approve. */
export const APPROVER_TOKEN = "token-of-amy-the-approver";
/** May look at one namespace, in which nothing runs. */
export const TENANT_TOKEN = "token-of-tina-the-tenant";

/** Slow enough that a browser sees every step; slower for pictures, which are made at a certain moment. */
const PICTURES = process.env.LOCKSTEP_PICTURES !== undefined;
const TIMINGS = {
  podStartMs: PICTURES ? 6_000 : 600,
  podStopMs: PICTURES ? 3_000 : 300,
  reactionMs: 20,
  deliveryMs: 60,
};
const LOOK_MS = 50;
const GIVE_UP_MS = 120_000;

/** Roles as an administrator would bind them: one may look at applications, one may also approve. */
function viewerRole(): JsonObject[] {
  const read = ["get", "list", "watch"];
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "looks" },
      rules: [
        { apiGroups: ["apps.karmada.io"], resources: ["crossclusterstatefulsets"], verbs: read },
        { apiGroups: [""], resources: ["events"], verbs: read },
      ],
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "looks" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "looks" },
      subjects: ["vera", "amy"].map((name) => ({ apiGroup: "rbac.authorization.k8s.io", kind: "User", name })),
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "approves" },
      rules: [{ apiGroups: ["apps.karmada.io"], resources: ["rolloutapprovals"], verbs: ["create"] }],
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "approves" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "approves" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "amy" }],
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name: "looks", namespace: "team" },
      rules: [
        { apiGroups: ["apps.karmada.io"], resources: ["*"], verbs: read },
        { apiGroups: [""], resources: ["events"], verbs: read },
      ],
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: "looks", namespace: "team" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "looks" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "tina" }],
    },
  ];
}

export class WebFleet {
  readonly #folder = mkdtempSync(join(tmpdir(), "lockstep-web-"));
  readonly kubeconfig = join(this.#folder, "kubeconfig");
  readonly #fleet: EmbeddedFleet;
  readonly #stop = new AbortController();
  readonly hub: KubeClient;
  readonly wire = new Wire();
  #running: Promise<void> = Promise.resolve();
  #operators: { stop(): Promise<void> } | undefined;
  #front: SecureFront | undefined;
  #dashboard: ServedDashboard | undefined;

  constructor() {
    this.#fleet = new EmbeddedFleet({
      clock,
      random,
      members: MEMBERS,
      timings: TIMINGS,
      authorizer: "RBAC",
      installed: [...admissionPolicies({ ...DEFAULT_POLICY_SETTINGS, workloads: EXAMPLE_WORKLOADS }), ...viewerRole()],
    });
    this.hub = this.#fleet.client();
  }

  async start({ readOnly = false } = {}): Promise<void> {
    const fleet = this.#fleet;
    await fleet.start();
    this.#operators = await startXline({ fleet, clock, random, log: silentLog });
    this.#front = await startSecureFront({
      name: "hub",
      server: fleet.hub,
      clock,
      tokens: [
        { token: OPERATOR_TOKEN, identity: { name: "olga", groups: ["system:masters"] } },
        { token: VIEWER_TOKEN, identity: { name: "vera", groups: [] } },
        { token: APPROVER_TOKEN, identity: { name: "amy", groups: [] } },
        { token: TENANT_TOKEN, identity: { name: "tina", groups: [] } },
      ],
    });
    const { kubeconfig } = this;
    await writeKubeconfig(kubeconfig, [await this.#front.context()], "hub");
    const hub = fleet.client();
    this.#running = runManager(
      {
        hub,
        clock,
        random,
        log: silentLog,
        engine: () => new KarmadaEngine({ hub, clock, random, log: silentLog }),
        webhookTransports: httpWebhookTransports,
        systemNamespace: DEFAULT_SYSTEM_NAMESPACE,
        identity: "web-suite",
        allowedClusters: { required: false },
      },
      this.#stop.signal,
    );
    await applyHold(this.hub, XLINE_EXAMPLE, MEMBERS);
    await this.until("the hold is in place", (object) => isHeld(object));
    await applyTemplate(this.hub, XLINE_EXAMPLE);
    await this.settled();
    this.#dashboard = await serveDashboard({
      clock,
      random,
      log: silentLog,
      program: "lockstep",
      kubeconfig,
      context: "hub",
      readOnly,
      address: "127.0.0.1:0",
    });
    await this.wire.open(Number(new URL(this.#dashboard.url).port));
  }

  /** As the browser reaches it. */
  get url(): string {
    return `http://127.0.0.1:${this.wire.port}/`;
  }

  /** A one-time link for the user of the kubeconfig. */
  ownLink(): string {
    const link = new URL(this.#dashboard?.ownLink() ?? "");
    return `${this.url}${link.hash}`;
  }

  setImage(image: string): Promise<unknown> {
    const patch = { type: "merge", body: { spec: { image } } } as const;
    return this.hub.patch(XLINE_EXAMPLE.templates, APP, patch, { fieldManager: "web-suite" });
  }

  /** As `kubectl apply --server-side` does. */
  async apply(object: KubeObject): Promise<void> {
    const found = await this.hub.discovery.resource(object.apiVersion, object.kind, {});
    await this.hub.apply(found, object, { fieldManager: "web-suite", force: true });
  }

  /** What the namespace's own ServiceAccount may distribute. */
  async mayDistribute(resources: readonly string[]): Promise<void> {
    const apiVersion = "rbac.authorization.k8s.io/v1";
    const metadata = { name: "distributes", namespace: "default" };
    const rules = [{ apiGroups: ["", "apps"], resources: [...resources], verbs: ["distribute"] }];
    await this.apply({ apiVersion, kind: "Role", metadata, rules });
    await this.apply({
      apiVersion,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "distributes" },
      subjects: [{ kind: "ServiceAccount", name: "default", namespace: "default" }],
    });
  }

  patchSpec(spec: JsonObject): Promise<unknown> {
    return this.hub.patch(STATEFULSETS, APP, { type: "merge", body: { spec } }, { fieldManager: "web-suite" });
  }

  object(): Promise<KubeObject> {
    return this.hub.get(STATEFULSETS, APP);
  }

  async status(): Promise<JsonObject> {
    const { status } = await this.object();
    return isJsonObject(status) ? status : {};
  }

  settled(): Promise<void> {
    return this.until("it is settled", ({ status, metadata }) => {
      const { phase, readyReplicas, observedGeneration, rollout } = isJsonObject(status) ? status : {};
      return (
        phase === "Settled" &&
        readyReplicas === 5 &&
        rollout === undefined &&
        observedGeneration === metadata.generation
      );
    });
  }

  async until(what: string, holds: (object: Awaited<ReturnType<KubeClient["get"]>>) => boolean): Promise<void> {
    const end = clock.monotonicMs() + GIVE_UP_MS;
    while (!holds(await this.hub.get(STATEFULSETS, APP))) {
      if (clock.monotonicMs() > end) throw new Error(`still not after ${GIVE_UP_MS} ms: ${what}`);
      await clock.sleep(LOOK_MS);
    }
  }

  async close(): Promise<void> {
    await this.wire.close();
    await this.#dashboard?.close();
    this.#stop.abort(new Error("the suite is over"));
    await this.#running;
    await this.#operators?.stop();
    await this.#fleet.stop();
    await this.#front?.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
