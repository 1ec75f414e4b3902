import { readFileSync } from "node:fs";
import { Agent, request } from "undici";
import { parseAllDocuments } from "yaml";

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { name: string; namespace?: string; [key: string]: unknown };
  [key: string]: unknown;
}

export interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: KubeObject;
}

/** The harness's own bare client: it must work before, and judge independently of, the client that is being tested. */
export class Api {
  readonly server: string;
  readonly tls: { ca: string; cert: string; key: string };
  readonly #agent: Agent;

  constructor(server: string, tls: { ca: string; cert: string; key: string }) {
    this.server = server;
    this.tls = tls;
    this.#agent = new Agent({ connect: tls, bodyTimeout: 0 });
  }

  async request(
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    body?: unknown,
    type = "application/json",
  ) {
    const response = await request(`${this.server}${path}`, {
      method,
      dispatcher: this.#agent,
      headers: { "content-type": type, accept: "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return { status: response.statusCode, text: await response.body.text() };
  }

  async get<T = KubeObject>(path: string): Promise<T | undefined> {
    const { status, text } = await this.request("GET", path);
    if (status === 404) return undefined;
    if (status !== 200) throw new Error(`GET ${this.server}${path}: ${status} ${text}`);
    return JSON.parse(text) as T;
  }

  async ok(path: string): Promise<boolean> {
    return (await this.request("GET", path)).status === 200;
  }

  /** Every resource that discovery names, as `group/version/plural`: what a client that starts now would find. */
  async discovered(): Promise<Set<string>> {
    const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    const response = await request(`${this.server}/apis`, { dispatcher: this.#agent, headers: { accept } });
    interface Discovery {
      items: {
        metadata: { name: string };
        versions: { version: string; freshness: string; resources?: { resource: string }[] }[];
      }[];
    }
    const { items } = (await response.body.json()) as Discovery;
    const names = items.flatMap(({ metadata, versions }) =>
      versions.flatMap(({ version, resources = [] }) =>
        resources.map(({ resource }) => `${metadata.name}/${version}/${resource}`),
      ),
    );
    return new Set(names);
  }

  /** The events of one watch, the present state first; ends when the server ends it. */
  async *watch(path: string, signal?: AbortSignal): AsyncGenerator<WatchEvent> {
    const response = await request(`${this.server}${path}${path.includes("?") ? "&" : "?"}watch=true`, {
      dispatcher: this.#agent,
      headers: { accept: "application/json" },
      signal,
    });
    if (response.statusCode !== 200)
      throw new Error(`watch ${path}: ${response.statusCode} ${await response.body.text()}`);
    response.body.setEncoding("utf8");
    let rest = "";
    for await (const chunk of response.body) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line !== "") yield JSON.parse(line) as WatchEvent;
    }
  }

  /** Server-side apply, by force: the harness's word is final. */
  async apply(object: KubeObject, manager = "lockstep-harness"): Promise<KubeObject> {
    const path = `${collectionPath(object)}/${object.metadata.name}?fieldManager=${manager}&force=true`;
    const { status, text } = await this.request("PATCH", path, object, "application/apply-patch+yaml");
    if (status >= 300)
      throw new Error(`apply ${object.kind} ${object.metadata.name} on ${this.server}: ${status} ${text}`);
    return JSON.parse(text) as KubeObject;
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}

const CLUSTER_SCOPED = new Set([
  "Namespace",
  "Node",
  "ClusterRole",
  "ClusterRoleBinding",
  "CustomResourceDefinition",
  "APIService",
  "MutatingWebhookConfiguration",
  "ValidatingWebhookConfiguration",
  "ManagedCluster",
  "ClusterOverridePolicy",
  "ClusterPropagationPolicy",
  "WorkloadRebalancer",
  "ResourceInterpreterCustomization",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
]);

function collectionPath({ apiVersion, kind, metadata }: KubeObject): string {
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const scope = CLUSTER_SCOPED.has(kind) ? "" : `/namespaces/${metadata.namespace ?? "default"}`;
  return `${root}${scope}/${plural(kind)}`;
}

function plural(kind: string): string {
  const lower = kind.toLowerCase();
  return lower.endsWith("y") ? `${lower.slice(0, -1)}ies` : lower.endsWith("s") ? `${lower}es` : `${lower}s`;
}

/** The objects of a YAML file, after its holes ({{caBundle}} and such) and other texts were filled in. */
export function objectsOf(file: string, fill: Record<string, string> = {}): KubeObject[] {
  let text = readFileSync(file, "utf8");
  for (const [hole, value] of Object.entries(fill)) text = text.replaceAll(hole, value);
  return objectsIn(text);
}

export function objectsIn(text: string): KubeObject[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null);
}
