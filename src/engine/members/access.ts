import { KubeClient, type KubeObject, Reflector, resource } from "../../kube/index.ts";
import {
  type Clock,
  isJsonObject,
  type Log,
  openHttpTransport,
  type Random,
  type Transport,
} from "../../runtime/index.ts";

/** Label on Secrets in a cluster's namespace that give access to the cluster's API server: `server`, `ca.crt`, `token`. */
export const MEMBER_ACCESS_LABEL = "lockstep.karmada.io/member-access";
export const SECRETS = resource({ apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true });

/** The address and credentials of a cluster's own API server, from a Secret labelled MEMBER_ACCESS_LABEL. */
export interface AccessPoint {
  readonly server: string;
  /** PEM. Absent: the system's CAs. */
  readonly ca?: string;
  readonly token: string;
}

export interface MemberConnection {
  readonly transport: Transport;
  close(): Promise<void>;
}

/** The connection to a cluster's API server, with its bearer token on every request. */
export async function openMemberOverHttp({ server, ca, token }: AccessPoint): Promise<MemberConnection> {
  const http = await openHttpTransport({ server, tls: ca === undefined ? {} : { ca } });
  const authorization = `Bearer ${token}`;
  return {
    transport: {
      request: (each) => http.request({ ...each, headers: { ...each.headers, authorization } }),
      stream: (each) => http.stream({ ...each, headers: { ...each.headers, authorization } }),
    },
    close: () => http.close(),
  };
}

export interface AccessOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly open: (point: AccessPoint) => Promise<MemberConnection>;
  /** The cluster that a namespace of the hub belongs to; undefined: none. */
  readonly clusterOf: (namespace: string) => string | undefined;
  /** A cluster can be read from now on, or no longer. */
  readonly opened: (cluster: string) => void;
  readonly closed: (cluster: string) => void;
}

interface Opened {
  readonly point: AccessPoint;
  /** The Secret that gives access: another one in the same namespace changes nothing. */
  readonly secret: string;
  connection?: MemberConnection;
  client?: KubeClient;
}

/** The clusters whose API servers can be read directly, by the Secrets in their namespaces. */
export class MemberAccesses {
  readonly #options: AccessOptions;
  readonly #opened = new Map<string, Opened>();

  constructor(options: AccessOptions) {
    this.#options = options;
  }

  /** Undefined: this cluster is only visible through the reports of its agent. */
  client(cluster: string): KubeClient | undefined {
    return this.#opened.get(cluster)?.client;
  }

  /** For callers that are notified when access begins and ends. */
  mustClient(cluster: string): KubeClient {
    const client = this.client(cluster);
    if (!client) throw new Error(`no Secret gives access to cluster ${cluster}`);
    return client;
  }

  async read(secret: KubeObject): Promise<void> {
    const { name } = secret.metadata;
    const { log, open, clock, random, opened, clusterOf } = this.#options;
    const cluster = clusterOf(secret.metadata.namespace ?? "");
    if (cluster === undefined) return;
    const point = accessPointOf(secret);
    const known = this.#opened.get(cluster);
    if (!point) {
      log.warn("this Secret gives no access: it needs server and token, and ca.crt as a rule", {
        cluster,
        secret: name,
      });
      return this.forget(secret);
    }
    // A token is renewed every few hours; the server may refuse the old one from now on.
    if (known && (known.secret !== name || JSON.stringify(known.point) === JSON.stringify(point))) return;
    if (known) await this.forget(secret);
    const entry: Opened = { point, secret: name };
    this.#opened.set(cluster, entry);
    try {
      const connection = await open(point);
      if (this.#opened.get(cluster) !== entry) return await connection.close();
      entry.connection = connection;
      entry.client = new KubeClient({ transport: connection.transport, clock, random, log: log.with({ cluster }) });
      opened(cluster);
    } catch (error) {
      if (this.#opened.get(cluster) === entry) this.#opened.delete(cluster);
      log.warn("a cluster's API server cannot be connected to", { cluster, reason: String(error) });
    }
  }

  async forget(secret: KubeObject): Promise<void> {
    const { name } = secret.metadata;
    const cluster = this.#options.clusterOf(secret.metadata.namespace ?? "") ?? "";
    const known = this.#opened.get(cluster);
    if (known?.secret !== name) return;
    this.#opened.delete(cluster);
    this.#options.closed(cluster);
    await known.connection?.close();
  }

  async close(): Promise<void> {
    const connections = [...this.#opened.values()].map(({ connection }) => connection?.close());
    this.#opened.clear();
    await Promise.all(connections);
  }
}

/** Undefined: the Secret gives no access. */
export function accessPointOf({ data }: KubeObject): AccessPoint | undefined {
  const text = (key: string) => {
    const value = isJsonObject(data) ? data[key] : undefined;
    return typeof value === "string" ? Buffer.from(value, "base64").toString("utf8").trim() : "";
  };
  const [server, ca, token] = [text("server"), text("ca.crt"), text("token")];
  if (!/^https:\/\//.test(server) || token === "") return undefined;
  return { server, token, ...(ca !== "" && { ca }) };
}

export interface AccessSecretsOptions extends Omit<AccessOptions, "opened" | "closed"> {
  readonly hub: KubeClient;
  readonly opened?: AccessOptions["opened"];
  readonly closed?: AccessOptions["closed"];
  /** Whether a namespace is a cluster's at present: a tenant's Secret leads to no connection. Absent: by its name. */
  readonly isCluster?: (namespace: string) => boolean;
}

/** The hub's Secrets that give access to members, followed as they and their clusters come and go. */
export class AccessSecrets {
  readonly #secrets: Reflector<KubeObject>;
  readonly #accesses: MemberAccesses;
  readonly #isCluster: (namespace: string) => boolean;

  constructor({ hub, opened = () => {}, closed = () => {}, isCluster = () => true, ...options }: AccessSecretsOptions) {
    this.#isCluster = isCluster;
    this.#accesses = new MemberAccesses({ ...options, opened, closed });
    this.#secrets = new Reflector<KubeObject>({
      ...options,
      client: hub,
      resource: SECRETS,
      selection: { labelSelector: MEMBER_ACCESS_LABEL },
      selects: (secret) => secret.metadata.labels?.[MEMBER_ACCESS_LABEL] !== undefined,
    });
  }

  client(cluster: string): KubeClient | undefined {
    return this.#accesses.client(cluster);
  }

  mustClient(cluster: string): KubeClient {
    return this.#accesses.mustClient(cluster);
  }

  /** Without the right to read them, no cluster is read directly; that is no reason to wait. */
  hasSynced(): boolean {
    const { hasSynced, isForbidden } = this.#secrets.health;
    return hasSynced || isForbidden;
  }

  async run(signal: AbortSignal): Promise<void> {
    const read = (secret: KubeObject) => {
      if (this.#isCluster(secret.metadata.namespace ?? "")) void this.#accesses.read(secret);
    };
    const deleted = (secret: KubeObject) => void this.#accesses.forget(secret);
    this.#secrets.cache.subscribe({ added: read, updated: read, deleted });
    await this.#secrets.run(signal);
  }

  clusterCame(namespace: string): void {
    for (const secret of this.#in(namespace)) void this.#accesses.read(secret);
  }

  clusterWent(namespace: string): void {
    for (const secret of this.#in(namespace)) void this.#accesses.forget(secret);
  }

  /** After everything that reads members has stopped. */
  close(): Promise<void> {
    return this.#accesses.close();
  }

  #in(namespace: string): KubeObject[] {
    return this.#secrets.cache.list().filter(({ metadata }) => metadata.namespace === namespace);
  }
}
