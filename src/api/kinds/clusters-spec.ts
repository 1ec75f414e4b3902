import { choice, list, map, object, optional, text } from "./build.ts";
import { DNS_SUBDOMAIN, LABEL_CHARS, MAX_CLUSTERS, NAME_CHARS } from "./names.ts";

/** Parts of a spec that kinds share: how labels are selected, and how clusters are chosen. */

export const labelSelector = (description: string) =>
  object(description, {
    matchLabels: optional(
      map("Labels the object must carry, with these values.", text("The label's value.", { maxLength: LABEL_CHARS }), {
        maxProperties: 32,
      }),
    ),
    matchExpressions: optional(
      list(
        "Requirements on labels; all must hold.",
        object("One requirement.", {
          key: text("The label's key.", { minLength: 1, maxLength: 317 }),
          operator: choice("How key and values relate.", ["In", "NotIn", "Exists", "DoesNotExist"]),
          values: optional(
            list("Values for In and NotIn.", text("A value.", { maxLength: LABEL_CHARS }), { maxItems: 32 }),
          ),
        }),
        { maxItems: 16 },
      ),
    ),
  });

export const clusterName = (description = "Name of a member cluster.") =>
  text(description, { minLength: 1, maxLength: LABEL_CHARS, pattern: DNS_SUBDOMAIN });

const names = optional(
  list("The clusters by name, in this order.", clusterName(), {
    minItems: 1,
    maxItems: MAX_CLUSTERS,
    identity: "set",
  }),
);
const selector = optional(labelSelector("Selects clusters by their labels on the hub, in the order of their names."));

/** `spec.clusters`: exactly one way to choose. */
export const clusterChoice = object(
  "The clusters. Exactly one of names, selector and placementRef.",
  {
    names,
    selector,
    placementRef: optional(
      object("The decisions of a Placement of Open Cluster Management, in this namespace.", {
        name: text("Its name.", { minLength: 1, maxLength: NAME_CHARS, pattern: DNS_SUBDOMAIN }),
      }),
    ),
  },
  {
    rules: [
      {
        rule: "[has(self.names), has(self.selector), has(self.placementRef)].exists_one(x, x)",
        message: "clusters needs exactly one of names, selector and placementRef",
      },
    ],
  },
);

/** Some of the clusters that `spec.clusters` chooses. */
export const someClusters = object(
  "The clusters that this is for. Exactly one of names and selector.",
  { names, selector },
  {
    rules: [
      {
        rule: "has(self.names) != has(self.selector)",
        message: "clusters needs exactly one of names and selector",
      },
    ],
  },
);
