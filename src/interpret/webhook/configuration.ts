/** Both kinds of webhook configuration, parsed: the proposal's ResourceExploringWebhookConfiguration, and Karmada's. */
import { createHash, X509Certificate } from "node:crypto";
import { isJsonObject, type Json, type JsonObject } from "../../runtime/index.ts";
import { describe, presentAt } from "../fields.ts";
import { EXPLORE_NAMES, isExplored, OPERATIONS, type Operation, parseOperation } from "../operations.ts";
import type { Problem } from "../problem.ts";

export const EXPLORING_KIND = "ResourceExploringWebhookConfiguration";
export const INTERPRETER_KIND = "ResourceInterpreterWebhookConfiguration";

/** `explore`: ExploreReview, rules by resource. `interpreter`: ResourceInterpreterContext, rules by kind. */
export type WebhookProtocol = "explore" | "interpreter";

/** The only existing version of both reviews. */
export const REVIEW_VERSION = "v1alpha1";

const DEFAULT_TIMEOUT_SECONDS = 10;
const MIN_TIMEOUT_SECONDS = 1;
const MAX_TIMEOUT_SECONDS = 30;
const DEFAULT_SERVICE_PORT = 443;

export interface WebhookRule {
  readonly operations: ReadonlySet<Operation>;
  readonly groups: readonly string[];
  readonly versions: readonly string[];
  /** Resources (`foos`, `foos/*`) for the proposal's rules, kinds for Karmada's; either may be `*`. */
  readonly names: readonly string[];
  readonly scope: "Cluster" | "Namespaced" | "*";
}

/** The address of a webhook. Without a CA, the system's roots are trusted. */
export interface WebhookEndpoint {
  readonly origin: string;
  readonly path: string;
  readonly caPem?: string;
  /** The name in its certificate, if that is not the origin's host. */
  readonly servername?: string;
}

export interface Webhook {
  /** `configuration/webhook`: unique, and the order of several matching webhooks. */
  readonly id: string;
  readonly protocol: WebhookProtocol;
  readonly rules: readonly WebhookRule[];
  /** A text if the webhook cannot be called: then every call ends by the failure policy, with this reason. */
  readonly endpoint: WebhookEndpoint | string;
  readonly failurePolicy: "Ignore" | "Fail";
  readonly timeoutSeconds: number;
  /** Changes if and only if the webhook changes. */
  readonly version: string;
}

/** Turns a Service reference into an origin and the name that its certificate must have. */
export type ServiceResolver = (service: { namespace: string; name: string; port: number }) => {
  origin: string;
  servername?: string;
};

/** The Service's DNS name, as inside its own cluster. */
export const serviceByDnsName: ServiceResolver = ({ namespace, name, port }) => ({
  origin: `https://${name}.${namespace}.svc:${port}`,
});

export interface ParsedConfiguration {
  readonly webhooks: Webhook[];
  readonly problems: Problem[];
}

export function parseConfiguration(
  object: JsonObject,
  resolveService: ServiceResolver,
  now: number,
): ParsedConfiguration {
  const protocol: WebhookProtocol = object.kind === EXPLORING_KIND ? "explore" : "interpreter";
  const configuration = String(presentAt(object, "metadata", "name") ?? "");
  const problems: Problem[] = [];
  const list = object.webhooks;
  if (!Array.isArray(list)) {
    const reason = `must be a list of webhooks, found ${describe(list)}`;
    return { webhooks: [], problems: [{ severity: "error", field: "webhooks", reason }] };
  }
  const names = new Set<string>();
  const webhooks = list.flatMap((item, index): Webhook[] => {
    const parser = new WebhookParser(`webhooks[${index}]`, protocol, problems);
    if (!isJsonObject(item)) return parser.error("", `must be an object, found ${describe(item)}`) ?? [];
    const name = parser.name(item, names);
    const rules = parser.rules(item.rules);
    const failurePolicy = parser.failurePolicy(item.failurePolicy);
    const timeoutSeconds = parser.timeout(item.timeoutSeconds);
    const endpoint = parser.endpoint(item.clientConfig, resolveService, now);
    const version = createHash("sha256")
      .update(JSON.stringify([protocol, item]))
      .digest("base64url");
    const unversioned = parser.versions(item);
    return [
      {
        id: `${configuration}/${name}`,
        protocol,
        rules,
        endpoint: unversioned ?? endpoint,
        failurePolicy,
        timeoutSeconds,
        version,
      },
    ];
  });
  return { webhooks, problems };
}

/** Reads the fields of one webhook; every error is reported with its field and replaced by a usable default. */
class WebhookParser {
  readonly #at: string;
  readonly #protocol: WebhookProtocol;
  readonly #problems: Problem[];

  constructor(at: string, protocol: WebhookProtocol, problems: Problem[]) {
    this.#at = at;
    this.#protocol = protocol;
    this.#problems = problems;
  }

  error(field: string, reason: string, severity: Problem["severity"] = "error"): undefined {
    this.#problems.push({ severity, field: field === "" ? this.#at : `${this.#at}.${field}`, reason });
    return undefined;
  }

  name(webhook: JsonObject, taken: Set<string>): string {
    const name = webhook.name;
    if (typeof name !== "string" || name === "") {
      this.error("name", `must be a qualified name such as foo.example.com, found ${describe(name)}`);
      return this.#at;
    }
    if (taken.has(name)) this.error("name", `"${name}" is also the name of an earlier webhook; names must differ`);
    taken.add(name);
    return name;
  }

  failurePolicy(value: Json | undefined): Webhook["failurePolicy"] {
    if (value === undefined || value === null) return "Fail";
    if (value === "Ignore" || value === "Fail") return value;
    this.error("failurePolicy", `must be Ignore or Fail, found ${describe(value)}`);
    return "Fail";
  }

  timeout(value: Json | undefined): number {
    if (value === undefined || value === null) return DEFAULT_TIMEOUT_SECONDS;
    if (
      typeof value === "number" &&
      Number.isInteger(value) &&
      value >= MIN_TIMEOUT_SECONDS &&
      value <= MAX_TIMEOUT_SECONDS
    ) {
      return value;
    }
    const range = `between ${MIN_TIMEOUT_SECONDS} and ${MAX_TIMEOUT_SECONDS}`;
    this.error("timeoutSeconds", `must be a whole number ${range}, found ${describe(value)}`);
    return DEFAULT_TIMEOUT_SECONDS;
  }

  /** The reason why no review of this webhook's versions can be sent, or undefined. */
  versions(webhook: JsonObject): string | undefined {
    const field = this.#protocol === "explore" ? "exploreReviewVersions" : "interpreterContextVersions";
    const versions = webhook[field];
    if (Array.isArray(versions) && versions.includes(REVIEW_VERSION)) return undefined;
    const reason = `must be a list with ${REVIEW_VERSION}, the only version there is, found ${JSON.stringify(versions ?? null)}`;
    this.error(field, reason);
    return `${field} ${reason}`;
  }

  rules(value: Json | undefined): WebhookRule[] {
    if (value === undefined || value === null) {
      this.error("rules", "has no rules, so it is never called", "warning");
      return [];
    }
    if (!Array.isArray(value)) return this.error("rules", `must be a list, found ${describe(value)}`) ?? [];
    return value.flatMap((rule, index): WebhookRule[] => {
      const at = `rules[${index}]`;
      if (!isJsonObject(rule)) return this.error(at, `must be an object, found ${describe(rule)}`) ?? [];
      const operations = this.#operations(rule.operations, `${at}.operations`);
      const groups = this.#texts(rule.apiGroups, `${at}.apiGroups`);
      const versions = this.#texts(rule.apiVersions, `${at}.apiVersions`);
      const what = this.#protocol === "explore" ? "resources" : "kinds";
      const names = this.#texts(rule[what], `${at}.${what}`);
      const scope = this.#scope(rule.scope, `${at}.scope`);
      if (!operations || !groups || !versions || !names || !scope) return [];
      return [{ operations, groups, versions, names, scope }];
    });
  }

  #operations(value: Json | undefined, field: string): ReadonlySet<Operation> | undefined {
    const names = this.#texts(value, field);
    if (names === undefined) return undefined;
    const known = this.#knownOperations();
    if (names.includes("*")) return new Set(known.values());
    const operations = names.flatMap((name) => {
      const operation = known.get(name);
      if (operation !== undefined) return [operation];
      const other = parseOperation(name);
      const hint = other === undefined ? "" : `; this kind calls it ${this.#nameOf(other)}`;
      this.error(field, `"${name}" is not an operation${hint}; known are ${[...known.keys()].join(", ")} and *`);
      return [];
    });
    return new Set(operations);
  }

  #nameOf(operation: Operation): string {
    return this.#protocol === "explore" && isExplored(operation) ? EXPLORE_NAMES[operation] : operation;
  }

  #knownOperations(): Map<string, Operation> {
    return new Map(
      OPERATIONS.flatMap((operation): [string, Operation][] => {
        if (operation === "InterpretProgress" || operation === "InterpretLeader") return [];
        if (this.#protocol === "interpreter") return [[operation, operation]];
        return isExplored(operation) ? [[EXPLORE_NAMES[operation], operation]] : [];
      }),
    );
  }

  #texts(value: Json | undefined, field: string): string[] | undefined {
    if (!Array.isArray(value) || value.length === 0 || !value.every((item) => typeof item === "string")) {
      return this.error(
        field,
        `must be a list of at least one text, found ${JSON.stringify(value ?? null)?.slice(0, 80)}`,
      );
    }
    const texts = value.filter((item) => typeof item === "string");
    if (texts.length > 1 && texts.includes("*"))
      this.error(field, "has * with other entries; * must be the only entry");
    return texts;
  }

  #scope(value: Json | undefined, field: string): WebhookRule["scope"] | undefined {
    if (value === undefined || value === null) return "*";
    if (value === "Cluster" || value === "Namespaced" || value === "*") return value;
    return this.error(field, `must be Cluster, Namespaced or *, found ${describe(value)}`);
  }

  endpoint(value: Json | undefined, resolveService: ServiceResolver, now: number): WebhookEndpoint | string {
    const before = this.#problems.length;
    const broken = () => {
      const { field, reason } = this.#problems.at(before) ?? { field: "clientConfig", reason: "is wrong" };
      return `${field} ${reason}`;
    };
    if (!isJsonObject(value)) {
      this.error("clientConfig", `must be an object with url or service, found ${describe(value)}`);
      return broken();
    }
    const hasUrl = value.url !== undefined && value.url !== null;
    const hasService = value.service !== undefined && value.service !== null;
    if (hasUrl === hasService) {
      this.error("clientConfig", `needs exactly one of url and service, has ${hasUrl ? "both" : "neither"}`);
      return broken();
    }
    const caPem = this.#caBundle(value.caBundle, now);
    const place = hasUrl ? this.#url(value.url) : this.#service(value.service, resolveService);
    const failed = this.#problems.slice(before).some(({ severity }) => severity === "error");
    if (place === undefined || failed) return broken();
    return { ...place, ...(caPem !== undefined && { caPem }) };
  }

  #url(value: Json | undefined): { origin: string; path: string } | undefined {
    const field = "clientConfig.url";
    const url = typeof value === "string" && URL.canParse(value) ? new URL(value) : undefined;
    if (url === undefined || url.protocol !== "https:" || url.hostname === "") {
      // Not the text itself: it may contain a password.
      const found = url === undefined ? "something else" : `${url.protocol}//${url.host}`;
      return this.error(field, `must be like https://host:443/path, found ${found}`);
    }
    if (url.username !== "" || url.password !== "") return this.error(field, "must not contain a user or password");
    if (url.search !== "" || url.hash !== "") return this.error(field, "must not contain a query or fragment");
    return { origin: url.origin, path: url.pathname };
  }

  #service(value: Json | undefined, resolve: ServiceResolver): Omit<WebhookEndpoint, "caPem"> | undefined {
    const field = "clientConfig.service";
    if (!isJsonObject(value)) return this.error(field, `must be an object, found ${describe(value)}`);
    const { namespace, name } = value;
    if (typeof namespace !== "string" || !isDnsLabel(namespace)) {
      return this.error(`${field}.namespace`, `must be a namespace's name, found ${describe(namespace)}`);
    }
    if (typeof name !== "string" || !isDnsLabel(name)) {
      return this.error(`${field}.name`, `must be a Service's name, found ${describe(name)}`);
    }
    const port = value.port ?? DEFAULT_SERVICE_PORT;
    if (typeof port !== "number" || !Number.isInteger(port) || port < 1 || port > 65535) {
      return this.error(`${field}.port`, `must be between 1 and 65535, found ${describe(port)}`);
    }
    const path = value.path ?? "/";
    if (typeof path !== "string" || !/^\/[^?#\s]*$/.test(path)) {
      return this.error(`${field}.path`, `must begin with / and have no query, found ${describe(path)}`);
    }
    return { ...resolve({ namespace, name, port }), path };
  }

  /** PEM in base64, as in Kubernetes. Parsed here, so that a typo is reported on the object and not as a TLS error. */
  #caBundle(value: Json | undefined, now: number): string | undefined {
    const field = "clientConfig.caBundle";
    if (value === undefined || value === null || value === "") return undefined;
    if (typeof value !== "string" || !/^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(value)) {
      return this.error(field, `must be PEM certificates in base64, found ${describe(value)}`);
    }
    const pem = Buffer.from(value, "base64").toString("latin1");
    const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
    if (blocks.length === 0) return this.error(field, "contains no PEM certificate (-----BEGIN CERTIFICATE-----)");
    for (const [index, block] of blocks.entries()) {
      try {
        const { validTo } = new X509Certificate(block);
        if (Date.parse(validTo) < now) this.error(field, `certificate ${index + 1} expired on ${validTo}`, "warning");
      } catch {
        return this.error(field, `certificate ${index + 1} cannot be read; encode the PEM file as it is in base64`);
      }
    }
    return pem;
  }
}

function isDnsLabel(text: string): boolean {
  return /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text);
}
