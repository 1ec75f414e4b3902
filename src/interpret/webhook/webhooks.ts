/** All webhook configurations together: who is asked about what, and what is wrong with each object. */
import type { JsonObject } from "../../runtime/index.ts";
import { valueAt } from "../fields.ts";
import type { Operation } from "../operations.ts";
import { hasErrors, type ObjectReport } from "../problem.ts";
import { parseConfiguration, type ServiceResolver, type Webhook } from "./configuration.ts";
import { firstMatching, type Matched, overlap } from "./matching.ts";

interface Held {
  read: string | undefined;
  webhooks: Webhook[];
  report: ObjectReport;
}

export class Webhooks {
  readonly #resolveService: ServiceResolver;
  readonly #now: () => number;
  #held = new Map<string, Held>();
  #inForce: Webhook[] = [];

  constructor(resolveService: ServiceResolver, now: () => number) {
    this.#resolveService = resolveService;
    this.#now = now;
  }

  /** Takes the whole list of both kinds as it is now. */
  set(objects: readonly JsonObject[]): void {
    const held = new Map<string, Held>();
    for (const object of objects) {
      const key = `${String(object.kind)}/${String(valueAt(object, "metadata", "name") ?? "")}`;
      held.set(key, this.#read(object, this.#held.get(key)));
    }
    this.#held = held;
    this.#inForce = [...held.values()].flatMap(({ webhooks }) => webhooks).sort(byId);
    this.#reportOverlaps();
  }

  #read(object: JsonObject, before: Held | undefined): Held {
    const version = valueAt(object, "metadata", "resourceVersion");
    const read = typeof version === "string" ? version : undefined;
    if (before !== undefined && read !== undefined && before.read === read) {
      const problems = before.report.problems.filter(({ reason }) => !reason.startsWith(OVERLAP));
      return { ...before, report: { ...before.report, problems } };
    }
    const { webhooks, problems } = parseConfiguration(object, this.#resolveService, this.#now());
    const generation = valueAt(object, "metadata", "generation");
    const report = {
      kind: String(object.kind),
      name: String(valueAt(object, "metadata", "name") ?? ""),
      ...(typeof generation === "number" && { generation }),
      problems,
    };
    if (!hasErrors(problems)) return { read, webhooks, report: { ...report, inForce: "this" } };
    if (before !== undefined && before.report.inForce !== "part") {
      return { read, webhooks: before.webhooks, report: { ...report, inForce: "old" } };
    }
    return { read, webhooks, report: { ...report, inForce: "part" } };
  }

  #reportOverlaps(): void {
    for (const { webhooks, report } of this.#held.values()) {
      for (const webhook of webhooks) {
        for (const other of this.#inForce) {
          if (other === webhook) break;
          const operations = overlap(other, webhook);
          if (operations.length === 0) continue;
          report.problems.push({
            severity: "warning",
            field: "webhooks",
            reason: `${OVERLAP} of ${webhook.id} and ${other.id} overlap for ${operations.join(", ")}: only ${other.id} is called, because it sorts first`,
          });
        }
      }
    }
  }

  get inForce(): readonly Webhook[] {
    return this.#inForce;
  }

  find(operation: Operation, object: Matched): Webhook | undefined {
    return firstMatching(this.#inForce, operation, object);
  }

  reports(): ObjectReport[] {
    return [...this.#held.values()].map(({ report }) => report);
  }
}

const OVERLAP = "the rules";

function byId(a: Webhook, b: Webhook): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
