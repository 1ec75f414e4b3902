import { type CrossClusterStatefulsetStatus, MAX_EVIDENCE } from "../../../api/index.ts";
import { REASONS, type Waiting } from "../../../rollout/index.ts";

/** A longer text is cut: the API server would refuse the whole status. */
const MESSAGE_CHARS = 4096;

/** What a person should read first: what needs a person, before what needs only time. */
export function firstReason(waiting: readonly Waiting[]): Waiting | undefined {
  return waiting.find(({ code }) => REASONS[code].needsPerson) ?? waiting[0];
}

export function sentence({ message, remedy }: Waiting): string {
  const end = /[.!?]$/.test(message) ? "" : ".";
  return cut(remedy === "" ? message : `${message}${end} ${remedy}`);
}

/** The planner's evidence for the reason, unchanged. */
export function evidenceOf({ evidence }: Waiting): Pick<CrossClusterStatefulsetStatus, "evidence"> {
  if (evidence.length === 0) return {};
  return {
    evidence: evidence.slice(0, MAX_EVIDENCE).map(({ object, field, value, sinceMs }) => ({
      object: cut(object),
      field: cut(field),
      value: cut(value),
      ...(sinceMs !== undefined && { since: time(sinceMs) }),
    })),
  };
}

export function cut(text: string): string {
  return text.length <= MESSAGE_CHARS ? text : `${text.slice(0, MESSAGE_CHARS - 3)}...`;
}

export function time(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
