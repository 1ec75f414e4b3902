/** Which actions make sense now, what each would do, and whether the viewer may. Pure. */
import type { CrossClusterStatefulsetStatus } from "../../api/index.ts";
import type { ActionName, ActionView, ApplicationName, Seen } from "../../web/index.ts";
import { argumentOf, RESOURCES } from "./kinds.ts";
import { given } from "./words.ts";

/** Whether the hub lets the viewer do it; undefined: the hub does not answer the question. */
export interface Rights {
  /** To patch objects of the kind. */
  readonly change: boolean | undefined;
  /** To create rolloutapprovals. */
  readonly approve: boolean | undefined;
}

/** An action that makes sense now. */
export interface Offer {
  readonly action: ActionName;
  readonly toRevision?: string;
  readonly consequence: string;
}

export function actionsOf(
  at: ApplicationName,
  status: CrossClusterStatefulsetStatus,
  isPaused: boolean,
  rights: Rights,
  commands: Commands,
): ActionView[] {
  return offered(at, offers(status, isPaused), rights, commands);
}

/** How the commands to paste begin, and what they are bound to. */
export interface Commands {
  readonly program: string;
  readonly seen: Seen;
}

/** The same with whether the viewer may, and with the command. */
export function offered(
  at: ApplicationName,
  offers: readonly Offer[],
  rights: Rights,
  { program, seen }: Commands,
): ActionView[] {
  return offers.map(({ action, consequence, toRevision }) => {
    const right = action === "approve" ? rights.approve : rights.change;
    const denied = right === true ? undefined : refusal(action, right, at);
    return {
      action,
      ...given("toRevision", toRevision),
      consequence,
      command: [program, action, argumentOf(at), `-n ${at.namespace}`, ...boundBy(action, seen, toRevision)].join(" "),
      allowed: denied === undefined,
      ...(denied !== undefined && { reason: denied }),
    };
  });
}

/** Pasted later, when the rollout has continued, the command must not decide about something else. */
function boundBy(action: ActionName, { revision, wave }: Seen, toRevision: string | undefined): string[] {
  if (toRevision !== undefined) return [`--to-revision ${toRevision}`];
  if (action !== "approve" && action !== "promote" && action !== "abort") return [];
  return [
    ...(wave === undefined || action === "abort" ? [] : [`--wave ${wave}`]),
    ...(revision === undefined ? [] : [`--revision ${revision}`]),
  ];
}

function refusal(action: ActionName, right: boolean | undefined, { type, namespace }: ApplicationName): string {
  const [verb, what] = action === "approve" ? ["create", "rolloutapprovals"] : ["patch", RESOURCES[type].plural];
  const asked = `to ${verb} ${what} in namespace ${namespace}`;
  if (right === false) return `You do not have the right ${asked}.`;
  return `The hub did not answer whether you have the right ${asked}. Use the command.`;
}

function offers(status: CrossClusterStatefulsetStatus, isPaused: boolean): Offer[] {
  const { rollout, previousRevision, phase } = status;
  const found: Offer[] = [];
  if (rollout?.awaitingApproval) {
    found.push({
      action: "approve",
      consequence: `Approves wave ${rollout.wave} for revision ${rollout.to}. The next wave starts at once.`,
    });
  }
  if (isPaused || phase === "Halted") {
    found.push({
      action: "resume",
      consequence: isPaused
        ? "The rollout continues: the next step starts as soon as quorum and budget allow it."
        : "The rollout continues where it halted, and tries the failed step again.",
    });
  } else {
    found.push({
      action: "pause",
      consequence: rollout
        ? "The step in progress completes. No other step of the update starts until it is resumed. Scaling continues."
        : "No rollout is in progress. The next one does not start until it is resumed. Scaling continues.",
    });
  }
  if (rollout?.soakUntil !== undefined || rollout?.windowClosed) {
    const past = [
      ...(rollout.soakUntil === undefined
        ? []
        : [`the soak of wave ${rollout.wave}, which lasts until ${rollout.soakUntil}`]),
      ...(rollout.windowClosed ? ["the closed maintenance window, for this rollout only"] : []),
    ];
    found.push({ action: "promote", consequence: `The rollout continues now, past ${past.join(" and ")}.` });
  }
  if (rollout && rollout.type !== "RollBack" && rollout.from !== undefined && rollout.from !== rollout.to) {
    found.push({ action: "abort", consequence: abortWords(status, rollout.from) });
  }
  if (!rollout && previousRevision !== undefined) {
    found.push({
      action: "undo",
      toRevision: previousRevision,
      consequence: `Returns to revision ${previousRevision}, cluster by cluster, in order. It stays there until the template itself is edited.`,
    });
  }
  return found;
}

/** Clusters that have started return; the others never move. */
function abortWords({ clusters = [], rollout }: CrossClusterStatefulsetStatus, from: string): string {
  const begun = clusters.filter(({ granted }) => granted?.revision === rollout?.to && (granted?.replicas ?? 0) > 0);
  const back = begun.map(({ name }) => name).join(", ");
  return back === ""
    ? `Ends the rollout to ${rollout?.to}. No cluster has started, so nothing moves.`
    : `Ends the rollout to ${rollout?.to}. Back to ${from}, in order: ${back}.`;
}
