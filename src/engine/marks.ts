import { TERM_ANNOTATION } from "./errors.ts";

/** Lockstep's own marks on hub objects. None of them reaches a member. */
export const MARKS = {
  /** Label on Works and holds: the application that they belong to, from `appMark`. */
  app: "lockstep.karmada.io/app",
  appNamespace: "lockstep.karmada.io/app-namespace",
  appName: "lockstep.karmada.io/app-name",
  /** Annotation on the Works of bundles: their owner's kind. The admission policy `work-contents` reads it. */
  appKind: "lockstep.karmada.io/app-kind",
  /** Label on policies that hold a template. */
  hold: "lockstep.karmada.io/hold",
  /** Annotation on Works: the term of the leader that may write them. */
  term: TERM_ANNOTATION,
  /** Annotation on an empty Work: what it is reserved for. */
  reserved: "lockstep.karmada.io/reserved-for",
  /** Annotation on Works: the object that they deliver existed in the cluster before, and is taken over. */
  takesOver: "lockstep.karmada.io/takes-over",
  /** Annotation on a Work of Karmada's own that Lockstep has ended, to take over what it delivered. */
  adopted: "lockstep.karmada.io/adopted",
  /** Prefix of the annotations that carry a dispatch's notes. */
  note: "note.lockstep.karmada.io/",
} as const;

/** Label on the objects of bundles in members: their owner, from `appMark`. Member streams of bundles select by it. */
export const OWNER_LABEL = "lockstep.karmada.io/owner";

/** Annotation on the objects of bundles in members: the epoch of the write, so that what a member shows is evidence. */
export const EPOCH_ANNOTATION = "lockstep.karmada.io/epoch";
