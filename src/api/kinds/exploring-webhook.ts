import type { Static } from "typebox";
import { choice, integer, list, object, optional, type Rule, text } from "./build.ts";
import { AGE_COLUMN, type KindDefinition } from "./definition.ts";
import { DNS_LABEL, DNS_SUBDOMAIN, LABEL_CHARS, NAME_CHARS } from "./names.ts";
import type { KubeObject } from "./object.ts";

export const CONFIG_GROUP = "config.karmada.io";
export const CONFIG_VERSION = "v1alpha1";

export const EXPLORE_OPERATIONS = [
  "ExploreReplica",
  "ExploreStatus",
  "ExplorePacking",
  "ExploreReplicaRevising",
  "ExploreRetaining",
  "ExploreStatusAggregating",
  "ExploreHealthy",
  "ExploreDependencies",
  "ExploreCompletion",
] as const;

/** The versions of ExploreReview that Lockstep supports. */
export const EXPLORE_REVIEW_VERSIONS = ["v1alpha1"] as const;

function starAlone(field: string): Rule {
  return {
    rule: "!('*' in self) || self.size() == 1",
    message: `${field}: if '*' is present, it must be the only entry`,
  };
}

const name = (description: string) => text(description, { minLength: 1, maxLength: NAME_CHARS });

const names = (field: string, description: string, entry: string) =>
  list(description, text(entry, { maxLength: NAME_CHARS }), { minItems: 1, maxItems: 64, rules: [starAlone(field)] });

const rule = object("Which operations on which resources.", {
  operations: list(
    "The operations that the webhook answers. '*' means all, and must be the only entry.",
    choice("An operation.", ["*", ...EXPLORE_OPERATIONS]),
    { minItems: 1, maxItems: 16, rules: [starAlone("operations")] },
  ),
  apiGroups: names(
    "apiGroups",
    "API groups of the resources. '*' means all, and must be the only entry; '' is the core group.",
    "A group.",
  ),
  apiVersions: names(
    "apiVersions",
    "API versions of the resources. '*' means all, and must be the only entry.",
    "A version.",
  ),
  resources: names(
    "resources",
    "The resources, in the plural, for example foos. '*' means all, and must be the only entry.",
    "A resource.",
  ),
  scope: choice("The scope of the resources. '*' means both.", ["*", "Namespaced", "Cluster"], {
    default: "*",
  }),
});

const clientConfig = object(
  "How to reach the webhook.",
  {
    url: optional(
      text("The webhook's URL: https, without user, query or fragment.", {
        minLength: 1,
        maxLength: 2048,
        rules: [
          {
            rule: "self.matches('^https://[^/?#@]+(/[^?#]*)?$')",
            message: "clientConfig.url must begin with https:// and have no user, query or fragment",
          },
        ],
      }),
    ),
    service: optional(
      object("The webhook's Service, where the controller runs.", {
        namespace: text("Its namespace.", { minLength: 1, maxLength: LABEL_CHARS, pattern: DNS_LABEL }),
        name: text("Its name.", { minLength: 1, maxLength: LABEL_CHARS, pattern: DNS_LABEL }),
        path: optional(text("The path of the request; it starts with a slash.", { maxLength: 1024, pattern: "^/" })),
        port: integer("Its port.", { minimum: 1, maximum: 65_535, default: 443 }),
      }),
    ),
    caBundle: optional(
      text("PEM certificates of the CA that signs the webhook's certificate, in base64. Absent: the system's roots.", {
        format: "byte",
        maxLength: 1_048_576,
      }),
    ),
  },
  {
    rules: [
      { rule: "has(self.url) != has(self.service)", message: "clientConfig needs exactly one of url and service" },
    ],
  },
);

const webhook = object("One webhook, and the requests that it answers.", {
  name: text("Its full name: at least three parts separated by dots, for example foo.example.com.", {
    minLength: 1,
    maxLength: NAME_CHARS,
    pattern: DNS_SUBDOMAIN,
    rules: [
      { rule: "self.split('.').size() >= 3", message: "name must be fully qualified, for example foo.example.com" },
    ],
  }),
  clientConfig,
  rules: optional(
    list("The webhook answers operations that match any of these rules. Absent: none.", rule, { maxItems: 64 }),
  ),
  failurePolicy: choice(
    "What happens on an error of the webhook. Fail: the operation fails. Ignore: the webhook is skipped.",
    ["Fail", "Ignore"],
    { default: "Fail" },
  ),
  timeoutSeconds: integer("How long to wait for an answer before failurePolicy applies.", {
    minimum: 1,
    maximum: 30,
    default: 10,
  }),
  exploreReviewVersions: list(
    "Versions of ExploreReview that the webhook supports, in order of preference. Lockstep uses the first one that it also supports.",
    name("A version."),
    {
      minItems: 1,
      maxItems: 16,
      rules: [
        {
          rule: `self.exists(v, v in [${EXPLORE_REVIEW_VERSIONS.map((version) => `'${version}'`).join(", ")}])`,
          message: `exploreReviewVersions must include a version that Lockstep supports: ${EXPLORE_REVIEW_VERSIONS.join(", ")}`,
        },
      ],
    },
  ),
});

const schema = object("Webhooks that read and change objects of kinds that Lockstep has no built-in support for.", {
  webhooks: list("The webhooks.", webhook, { maxItems: 64, identity: ["name"] }),
});

export type ResourceExploringWebhook = Static<typeof webhook>;
export type ExploringRule = Static<typeof rule>;
export type ResourceExploringWebhookConfiguration = KubeObject<
  typeof schema,
  "config.karmada.io/v1alpha1",
  "ResourceExploringWebhookConfiguration"
>;

export const RESOURCE_EXPLORING_WEBHOOK_CONFIGURATION: KindDefinition = {
  group: CONFIG_GROUP,
  version: CONFIG_VERSION,
  kind: "ResourceExploringWebhookConfiguration",
  plural: "resourceexploringwebhookconfigurations",
  singular: "resourceexploringwebhookconfiguration",
  scope: "Cluster",
  schema,
  hasStatus: false,
  columns: [
    { name: "Webhooks", type: "string", jsonPath: ".webhooks[*].name", description: "Names of the webhooks." },
    AGE_COLUMN,
  ],
};
