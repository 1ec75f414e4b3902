/** What the viewer may do and read, as the hub answers it (SelfSubjectAccessReview), asked again and again. */
import type { Resource } from "../../kube/index.ts";
import { isJsonObject } from "../../runtime/index.ts";
import type { ApplicationName } from "../../web/index.ts";
import { APPROVALS, type Hub } from "../hub/hub.ts";
import { RESOURCES } from "./kinds.ts";

const PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const DEADLINE_MS = 5_000;
/**
 * Rights that are given or taken show up after this time, and a hub that no longer answers at most DEADLINE_MS later. A
 * watch shows neither: a hub does not end it when a right is taken, and a connection may be open at this end alone.
 */
const EVERY_MS = 10_000;

type Question = Readonly<Record<string, string>>;
/** `unsaid`: the hub answers, but not this question. `silent`: it does not answer. `expired`: not to this viewer. */
type Answer = boolean | "unsaid" | "silent" | "expired";

export type Questions = Readonly<Record<string, Question>>;

/** What the page of one application asks. */
export function applicationQuestions({ type, namespace, name }: ApplicationName): Questions {
  const at = { resource: RESOURCES[type].plural, group: groupOf(RESOURCES[type]), namespace, name };
  return {
    read: { ...at, verb: "watch" },
    change: { ...at, verb: "patch" },
    approve: { verb: "create", resource: APPROVALS.plural, group: groupOf(APPROVALS), namespace },
  };
}

export function question(verb: string, kind: Resource, namespace?: string): Question {
  const at = { verb, resource: kind.plural, group: groupOf(kind) };
  return namespace === undefined ? at : { ...at, namespace };
}

function groupOf({ apiVersion }: Pick<Resource, "apiVersion">): string {
  return apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
}

export class Access {
  readonly #hub: Pick<Hub, "transport" | "clock">;
  readonly #questions: Questions;
  readonly #answered: () => void;
  #answers = new Map<string, Answer>();
  #heardMs: number | undefined;

  /** `answered`: called after each round. */
  constructor(hub: Pick<Hub, "transport" | "clock">, questions: Questions, answered: () => void) {
    this.#hub = hub;
    this.#questions = questions;
    this.#answered = answered;
  }

  /** Resolves when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#hub;
    while (!signal.aborted) {
      const keys = Object.keys(this.#questions);
      const answers = await Promise.all(keys.map((key) => this.#ask(this.#questions[key] ?? {}, signal)));
      this.#answers = new Map(keys.map((key, index) => [key, answers[index] ?? "unsaid"]));
      if (answers.some((answer) => answer !== "silent")) this.#heardMs = clock.now();
      this.#answered();
      await clock.sleep(EVERY_MS, signal).catch(() => {});
    }
  }

  get hasAnswers(): boolean {
    return this.#answers.size > 0;
  }

  /** Undefined: the hub does not say. */
  may(key: string): boolean | undefined {
    const answer = this.#answers.get(key);
    return typeof answer === "boolean" ? answer : undefined;
  }

  /** The hub no longer accepts the viewer's credentials. */
  get isExpired(): boolean {
    return [...this.#answers.values()].includes("expired");
  }

  /** Why what is shown may be old; undefined: the hub answers. */
  get silence(): string | undefined {
    if (![...this.#answers.values()].includes("silent")) return undefined;
    const since =
      this.#heardMs === undefined ? "" : ` since ${new Date(this.#heardMs).toISOString().slice(11, 19)} UTC`;
    return `The hub has not answered${since}`;
  }

  async #ask(resourceAttributes: Question, signal: AbortSignal): Promise<Answer> {
    const { transport, clock } = this.#hub;
    const deadline = new AbortController();
    const end = () => deadline.abort();
    const cancel = clock.after(DEADLINE_MS, end);
    signal.addEventListener("abort", end, { once: true });
    try {
      const { status, body } = await transport.request({
        method: "POST",
        path: PATH,
        headers: { "content-type": "application/json", accept: "application/json" },
        body: JSON.stringify({
          apiVersion: "authorization.k8s.io/v1",
          kind: "SelfSubjectAccessReview",
          spec: { resourceAttributes },
        }),
        signal: deadline.signal,
      });
      if (status === 401) return "expired";
      if (status >= 500) return "silent";
      if (status >= 300) return "unsaid";
      const answer: unknown = JSON.parse(body);
      const said = isJsonObject(answer) && isJsonObject(answer.status) ? answer.status.allowed : undefined;
      return typeof said === "boolean" ? said : "unsaid";
    } catch {
      return "silent";
    } finally {
      cancel();
      signal.removeEventListener("abort", end);
    }
  }
}
