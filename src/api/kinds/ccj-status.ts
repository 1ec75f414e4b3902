import { anyObject, integer, list, object, optional, text, time } from "./build.ts";
import { conditions } from "./ccs-status.ts";
import { expiresAt } from "./lifetime.ts";
import { LABEL_CHARS, MESSAGE_CHARS, NAME_CHARS, REASON_CHARS } from "./names.ts";

/** `status` of CrossClusterJob: a view of the ledger. Lockstep decides nothing from it, unless the ledger is lost. */

const count = (description: string) => optional(integer(description, { minimum: 0 }));
const word = (description: string) => optional(text(description, { maxLength: REASON_CHARS }));
const sentence = (description: string) => optional(text(description, { maxLength: MESSAGE_CHARS }));

export const JOB_PHASES = [
  "Pending",
  "Running",
  "Suspended",
  "Waiting",
  "Complete",
  "Failed",
  "Invalid",
  "Deleting",
] as const;
export type JobPhase = (typeof JOB_PHASES)[number];

/** Older attempts are only counted. */
export const MAX_LISTED_ATTEMPTS = 100;
/** Longer sets of indexes are cut, of attempts that are over. */
export const MAX_INDEXES_CHARS = 4096;
/** What is done of all the work: if the ledger is lost, only this says it. As long as the largest set that is kept. */
export const MAX_DONE_CHARS = 128 * 1024;

const attempt = object("One attempt at the work, in one cluster.", {
  number: integer("Counts from 1.", { minimum: 1 }),
  cluster: text("Where it runs.", { maxLength: LABEL_CHARS }),
  object: optional(text("The name of its object there.", { maxLength: NAME_CHARS })),
  indexes: optional(text("The indexes that it was given, such as 0-3,7.", { maxLength: MAX_DONE_CHARS })),
  completions: count("The completions that it was given, of a Job without indexes."),
  succeeded: count("Its pods that have succeeded."),
  completedIndexes: optional(
    text("The indexes that it had done when it ended otherwise than by success.", { maxLength: MAX_INDEXES_CHARS }),
  ),
  state: text("Starting, Running, Suspended, Stopping, Succeeded, Failed, Moved, Lost or Unused.", {
    maxLength: REASON_CHARS,
  }),
  startedAt: optional(time("When Lockstep decided on it.")),
  finishedAt: optional(time("When its end was recorded.")),
  deadline: optional(time("Exclusive: its cluster ends it by this time unless Lockstep extends it.")),
  mayRunTwice: optional(text("AtLeastOnce: why its work may have run twice.", { maxLength: MESSAGE_CHARS })),
  reason: word("Why it ended, or what it waits for."),
  message: sentence("The same in a sentence."),
});

const waiting = object("Something that is wanted and does not happen.", {
  reason: text("The reason in one word.", { maxLength: REASON_CHARS }),
  cluster: optional(text("The cluster that it concerns.", { maxLength: LABEL_CHARS })),
  message: sentence("What is awaited."),
  remedy: sentence("What to do."),
});

export const crossClusterJobStatus = object("The state of the work.", {
  observedGeneration: optional(integer("The generation that this refers to.", { minimum: 0, format: "int64" })),
  phase: word(`${JOB_PHASES.slice(0, -1).join(", ")} or ${JOB_PHASES.at(-1)}.`),
  reason: word("Why it does not progress, or why it failed."),
  message: sentence("The reason and the remedy."),
  expiresAt,
  attempts: optional(
    list("The attempts, oldest first.", attempt, { maxItems: MAX_LISTED_ATTEMPTS, identity: ["number"] }),
  ),
  active: count("Pods that run now."),
  succeeded: count("Pods that have succeeded."),
  failed: count("Pods that have failed."),
  completions: count("How many completions the work needs."),
  completedIndexes: optional(text("The indexes that are done, such as 0-3,7.", { maxLength: MAX_DONE_CHARS })),
  startTime: optional(time("When the first attempt was decided on.")),
  completionTime: optional(time("When the work was complete.")),
  waiting: optional(list("What is awaited.", waiting, { maxItems: 32 })),
  workload: optional(anyObject("The status of the newest attempt's object; of a large one, its smaller fields.")),
  display: optional(
    object("Texts for kubectl's columns.", {
      completions: optional(text("Done of wanted.", { maxLength: 32 })),
      duration: optional(text("How long it took, once it has ended.", { maxLength: 32 })),
      clusters: optional(text("Where it runs.", { maxLength: MESSAGE_CHARS })),
    }),
  ),
  conditions: conditions("Complete, Failed, Suspended, Unknown."),
});
