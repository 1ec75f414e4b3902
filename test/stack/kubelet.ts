/**
 * Simulated kubelets: the one part of the stack that is not real. Each member gets a node; its pods are bound to it,
 * become ready after `startMs`, and are gone `stopMs` after their deletion. A pod whose image contains "broken" never
 * becomes ready; one whose image contains "hook" ends well after `startMs`, or badly if it contains "failing". A pod's
 * annotations `lockstep.test/start-ms` and `lockstep.test/stop-ms` override the times.
 *
 * A pod that is not restarted ends `lockstep.test/run-ms` after it was ready, unless `lockstep.test/hold-in` names its
 * member; in those that `lockstep.test/fail-in` names it fails.
 *
 * Run as a program: node --import tsx kubelet.ts SETTINGS-FILE, where the file holds KubeletSettings as JSON.
 */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { Api, type KubeObject } from "./api.ts";

export interface KubeletSettings {
  readonly members: { name: string; server: string; ca: string; cert: string; key: string }[];
  readonly startMs: number;
  readonly stopMs: number;
}

interface Pod extends KubeObject {
  readonly metadata: {
    name: string;
    namespace: string;
    uid: string;
    annotations?: Record<string, string>;
    deletionTimestamp?: string;
  };
  readonly spec: { nodeName?: string; restartPolicy?: string; containers: { name: string; image: string }[] };
  readonly status?: { phase?: string; conditions?: { type: string; status: string }[] };
}

const RECONNECT_MS = 200;

class Kubelet {
  readonly #api: Api;
  readonly #node: string;
  readonly #member: string;
  readonly #settings: KubeletSettings;
  /** Work already under way, by pod uid and what is being done to it. */
  readonly #underWay = new Set<string>();

  constructor(api: Api, member: string, settings: KubeletSettings) {
    this.#api = api;
    this.#node = `${member}-node`;
    this.#member = member;
    this.#settings = settings;
  }

  async run(): Promise<never> {
    for (;;) {
      try {
        await this.#registerNode();
        for await (const event of this.#api.watch("/api/v1/pods")) {
          if (event.type === "ADDED" || event.type === "MODIFIED") this.#attend(event.object as unknown as Pod);
        }
      } catch (error) {
        console.error(`${this.#node}: ${error instanceof Error ? error.message : error}`);
      }
      await sleep(RECONNECT_MS);
    }
  }

  async #registerNode(): Promise<void> {
    const resources = { cpu: "64", memory: "256Gi", pods: "1000" };
    await this.#api.apply({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: this.#node, labels: { "kubernetes.io/hostname": this.#node } },
    });
    const status = {
      capacity: resources,
      allocatable: resources,
      conditions: [condition("Ready")],
      nodeInfo: { kubeletVersion: "simulated" },
    };
    await this.#api.request("PATCH", `/api/v1/nodes/${this.#node}/status`, { status }, "application/merge-patch+json");
  }

  #attend(pod: Pod): void {
    const { annotations = {}, deletionTimestamp } = pod.metadata;
    const startMs = Number(annotations["lockstep.test/start-ms"] ?? this.#settings.startMs);
    const stopMs = Number(annotations["lockstep.test/stop-ms"] ?? this.#settings.stopMs);
    if (deletionTimestamp !== undefined) this.#once(pod, "stop", stopMs, () => this.#finish(pod));
    else if (pod.spec.nodeName === undefined) this.#once(pod, "bind", 0, () => this.#bind(pod));
    else if (hasEnded(pod)) return;
    else if (pod.status?.phase !== "Running") this.#once(pod, "start", startMs, () => this.#markRunning(pod));
    else if (this.#endsByItself(pod)) {
      const isFailure = names(annotations["lockstep.test/fail-in"]).includes(this.#member);
      const runMs = Number(annotations["lockstep.test/run-ms"] ?? 0);
      this.#once(pod, "end", runMs, () => this.#markEnded(pod, isFailure ? "Failed" : "Succeeded"));
    }
  }

  #endsByItself({ spec, metadata }: Pod): boolean {
    return (
      spec.restartPolicy === "Never" && !names(metadata.annotations?.["lockstep.test/hold-in"]).includes(this.#member)
    );
  }

  #once(pod: Pod, what: string, afterMs: number, action: () => Promise<unknown>): void {
    const key = `${pod.metadata.uid}/${what}`;
    if (this.#underWay.has(key)) return;
    this.#underWay.add(key);
    sleep(afterMs)
      .then(action)
      .catch((error) => console.error(`${key}: ${error instanceof Error ? error.message : error}`))
      .finally(() => this.#underWay.delete(key));
  }

  #bind(pod: Pod) {
    return this.#api.request("POST", `${podPath(pod)}/binding`, {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name: pod.metadata.name },
      target: { apiVersion: "v1", kind: "Node", name: this.#node },
    });
  }

  #markRunning(pod: Pod) {
    if (pod.spec.containers.some(({ image }) => image.includes("hook"))) {
      const isFailure = pod.spec.containers.some(({ image }) => image.includes("failing"));
      return this.#markEnded(pod, isFailure ? "Failed" : "Succeeded");
    }
    const ready = !pod.spec.containers.some(({ image }) => image.includes("broken"));
    const status = {
      phase: "Running",
      conditions: [
        condition("Initialized"),
        condition("PodScheduled"),
        condition("ContainersReady", ready),
        condition("Ready", ready),
      ],
      containerStatuses: pod.spec.containers.map(({ name, image }) => ({
        name,
        image,
        imageID: image,
        ready,
        started: ready,
        restartCount: 0,
        state: { running: { startedAt: new Date().toISOString() } },
      })),
    };
    return this.#api.request(
      "PATCH",
      `${podPath(pod)}/status`,
      { metadata: { uid: pod.metadata.uid }, status },
      "application/merge-patch+json",
    );
  }

  #markEnded(pod: Pod, phase: "Succeeded" | "Failed") {
    const exitCode = phase === "Succeeded" ? 0 : 1;
    const status = {
      phase,
      conditions: [condition("Initialized"), condition("PodScheduled"), condition("Ready", false)],
      containerStatuses: pod.spec.containers.map(({ name, image }) => ({
        name,
        image,
        imageID: image,
        ready: false,
        started: false,
        restartCount: 0,
        state: { terminated: { exitCode, reason: exitCode === 0 ? "Completed" : "Error" } },
      })),
    };
    const body = { metadata: { uid: pod.metadata.uid }, status };
    return this.#api.request("PATCH", `${podPath(pod)}/status`, body, "application/merge-patch+json");
  }

  /** Its containers have ended by then, and a pod that is not restarted says so before it goes. */
  async #finish(pod: Pod) {
    if (pod.spec.restartPolicy === "Never" && !hasEnded(pod)) await this.#markEnded(pod, "Failed");
    return this.#api.request("DELETE", podPath(pod), {
      apiVersion: "v1",
      kind: "DeleteOptions",
      gracePeriodSeconds: 0,
      preconditions: { uid: pod.metadata.uid },
    });
  }
}

function condition(type: string, holds = true) {
  return { type, status: holds ? "True" : "False", lastTransitionTime: new Date().toISOString() };
}

function hasEnded({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

function names(list = ""): string[] {
  return list.split(",");
}

function podPath({ metadata }: Pod): string {
  return `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const settings = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as KubeletSettings;
  await Promise.all(
    settings.members.map(({ name, server, ...tls }) => new Kubelet(new Api(server, tls), name, settings).run()),
  );
}
