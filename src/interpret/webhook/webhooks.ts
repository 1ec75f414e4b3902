/** All webhook configurations together: which webhook answers what, and the errors of each object. */
import type { JsonObject } from "../../runtime/index.ts";
import { presentAt } from "../fields.ts";
import type { Operation } from "../operations.ts";
import { hasErrors, type ObjectReport, type Problem } from "../problem.ts";
import { parseConfiguration, type ServiceResolver, type Webhook } from "./configuration.ts";
import { firstMatching, type Matched, overlap } from "./matching.ts";

interface Held {
  /** resourceVersion of the object that was parsed, to parse each version once. */
  readonly read: string | undefined;
  /** The version in force. */
  readonly webhooks: Webhook[];
  /** The errors of the newest version alone. */
  readonly report: ObjectReport;
}

export class Webhooks {
  readonly #resolveService: ServiceResolver;
  readonly #now: () => number;
  #held = new Map<string, Held>();
  #reports: ObjectReport[] = [];
  #inForce: Webhook[] = [];

  constructor(resolveService: ServiceResolver, now: () => number) {
    this.#resolveService = resolveService;
    this.#now = now;
  }

  /** Sets the current list of both kinds. */
  set(objects: readonly JsonObject[]): void {
    const held = new Map<string, Held>();
    for (const object of objects) {
      const key = `${String(object.kind)}/${String(presentAt(object, "metadata", "name") ?? "")}`;
      held.set(key, this.#readNewest(object, this.#held.get(key)));
    }
    this.#held = held;
    this.#inForce = [...held.values()].flatMap(({ webhooks }) => webhooks).sort(byId);
    this.#reports = [...held.values()].map(({ webhooks, report }) => ({
      ...report,
      problems: [...report.problems, ...webhooks.flatMap((webhook) => this.#overlapsOf(webhook))],
    }));
  }

  /**
   * The newest version if it has no errors, otherwise the last one without errors, otherwise the usable parts of the
   * newest.
   */
  #readNewest(object: JsonObject, before: Held | undefined): Held {
    const version = presentAt(object, "metadata", "resourceVersion");
    const read = typeof version === "string" ? version : undefined;
    if (before !== undefined && read !== undefined && before.read === read) return before;
    const { webhooks, problems } = parseConfiguration(object, this.#resolveService, this.#now());
    const generation = presentAt(object, "metadata", "generation");
    const report = {
      kind: String(object.kind),
      name: String(presentAt(object, "metadata", "name") ?? ""),
      ...(typeof generation === "number" && { generation }),
      problems,
    };
    if (!hasErrors(problems)) return { read, webhooks, report: { ...report, inForce: "this" } };
    if (before !== undefined && before.report.inForce !== "part") {
      return { read, webhooks: before.webhooks, report: { ...report, inForce: "old" } };
    }
    return { read, webhooks, report: { ...report, inForce: "part" } };
  }

  /** Reported on the one that is not called. */
  #overlapsOf(webhook: Webhook): Problem[] {
    const earlier = this.#inForce.slice(0, this.#inForce.indexOf(webhook));
    return earlier.flatMap((other): Problem[] => {
      const operations = overlap(other, webhook).join(", ");
      if (operations === "") return [];
      const reason = `the rules of ${webhook.id} and ${other.id} overlap for ${operations}: only ${other.id} is called, because it sorts first`;
      return [{ severity: "warning", field: "webhooks", reason }];
    });
  }

  get inForce(): readonly Webhook[] {
    return this.#inForce;
  }

  find(operation: Operation, object: Matched): Webhook | undefined {
    return firstMatching(this.#inForce, operation, object);
  }

  /** One for every object. */
  reports(): readonly ObjectReport[] {
    return this.#reports;
  }
}

function byId(a: Webhook, b: Webhook): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
