import type { Static } from "typebox";
import { anyObject, choice, flag, integer, list, map, object, optional, text } from "./build.ts";
import { EXPLORE_OPERATIONS } from "./exploring-webhook.ts";
import { MESSAGE_CHARS, NAME_CHARS } from "./names.ts";

/** The request to an exploring webhook, and its answer. A message on the wire, not a stored kind. */

const name = (description: string) => text(description, { maxLength: NAME_CHARS });
const uid = (description: string) => text(description, { minLength: 1, maxLength: 128 });

const request = object("The question.", {
  uid: uid("Identifies this request; the answer must contain it too."),
  kind: object("The object's group, version and kind.", {
    group: name("Its group; '' is the core group."),
    version: name("Its version."),
    kind: name("Its kind."),
  }),
  name: name("The object's name."),
  namespace: optional(name("The object's namespace, if it has one.")),
  operation: choice("The requested operation.", EXPLORE_OPERATIONS),
  object: optional(anyObject("The object.")),
  replicas: optional(integer("For ExploreReplicaRevising: the number of replicas to write into the object.")),
  aggregatedStatus: optional(
    list(
      "For ExploreStatusAggregating: the status in every cluster.",
      object("One cluster's status.", {
        clusterName: name("The cluster."),
        status: optional(anyObject("The object's status there.")),
        applied: optional(flag("Whether the object has been applied there.")),
        appliedMessage: optional(text("Why it has not been applied.", { maxLength: MESSAGE_CHARS })),
      }),
      { maxItems: 1000 },
    ),
  ),
});

const response = object("The answer.", {
  uid: uid("The request's uid."),
  patch: optional(text("A JSON patch (RFC 6902) on the object, in base64.", { format: "byte", maxLength: 3_145_728 })),
  patchType: optional(choice("The format of the patch.", ["JSONPatch"])),
  replicaRequirements: optional(
    object("For ExploreReplica: what each replica needs.", {
      nodeClaim: optional(anyObject("Which nodes it needs: hardNodeAffinity, nodeSelector, tolerations.")),
      resourceRequest: optional(
        map("The resources it needs, by name.", text("A quantity.", { maxLength: 64 }), { maxProperties: 100 }),
      ),
    }),
  ),
  replicas: optional(integer("For ExploreReplica: how many replicas the object declares.")),
  dependencies: optional(
    list(
      "For ExploreDependencies: the other objects that the object needs.",
      object("One object.", {
        apiVersion: name("Its apiVersion."),
        kind: name("Its kind."),
        namespace: optional(name("Its namespace; absent for cluster-scoped objects.")),
        name: name("Its name."),
      }),
      { maxItems: 1000 },
    ),
  ),
  status: optional(anyObject("For ExploreStatus: the object's status.")),
  healthy: optional(flag("For ExploreHealthy: whether the object is healthy.")),
  completion: optional(
    object("For ExploreCompletion: whether the work has ended, and how.", {
      state: choice("Whether it has ended.", ["running", "succeeded", "failed"]),
      reason: optional(text("Why, in one word.", { maxLength: 128 })),
      message: optional(text("Why, in a sentence.", { maxLength: 1024 })),
    }),
  ),
});

export const exploreReview = object("A request to an exploring webhook, or its answer.", {
  apiVersion: choice("The version of this message.", ["config.karmada.io/v1alpha1"]),
  kind: choice("The kind of this message.", ["ExploreReview"]),
  request: optional(request),
  response: optional(response),
});

export type ExploreOperation = (typeof EXPLORE_OPERATIONS)[number];
export type ExploreRequest = Static<typeof request>;
export type ExploreResponse = Static<typeof response>;
export type ExploreReview = Static<typeof exploreReview>;
