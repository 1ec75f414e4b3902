import { anyObject, choice, embeddedObject, list, object, optional, text } from "./build.ts";
import { DNS_LABEL, DNS_SUBDOMAIN, NAME_CHARS } from "./names.ts";

/** Where a DistributedApplication's objects come from: `spec.source`. */

const URL_CHARS = 2048;
const VERSION_CHARS = 128;

const objectName = (description: string) =>
  text(description, { minLength: 1, maxLength: NAME_CHARS, pattern: DNS_SUBDOMAIN });
const httpsUrl = (description: string) =>
  text(description, {
    minLength: 1,
    maxLength: URL_CHARS,
    rules: [
      { rule: "self.matches('^https?://[^@/ ]+(/[^@ ]*)?$')", message: "must be an https URL without a user name" },
    ],
  });
const ociUrl = (description: string) =>
  text(description, { minLength: 7, maxLength: URL_CHARS, pattern: "^oci://[^@ ]+(@sha256:[0-9a-f]{64})?$" });

const credentials = optional(
  object("What the source is asked with.", {
    secret: objectName(
      "A Secret in this namespace: username and password; ca.crt where the server has a certificate of its own.",
    ),
  }),
);

const archive = object(
  "An archive (.tgz). Exactly one of configMap and url.",
  {
    configMap: optional(objectName("A ConfigMap in this namespace; the archive is its only binaryData entry.")),
    url: optional(httpsUrl("Where the archive is downloaded from. It needs sha256.")),
    sha256: optional(
      text("The archive's digest; another content is refused.", { maxLength: 64, pattern: "^[0-9a-f]{64}$" }),
    ),
  },
  {
    rules: [
      { rule: "has(self.configMap) != has(self.url)", message: "archive needs exactly one of configMap and url" },
      {
        rule: "has(self.url) == has(self.sha256)",
        message: "archive.url needs archive.sha256, so that the content is the one that you have seen",
      },
    ],
  },
);

const helm = object(
  "A Helm chart: from a repository (repository and chart), a registry (oci), or an archive. The controller renders it once for all clusters with the same values; no release is stored in the members.",
  {
    chart: optional(
      text("The chart's name in the repository.", {
        minLength: 1,
        maxLength: NAME_CHARS,
        pattern: "^[A-Za-z0-9]([-A-Za-z0-9._/]*[A-Za-z0-9])?$",
      }),
    ),
    repository: optional(httpsUrl("The chart repository's URL.")),
    oci: optional(ociUrl("The chart in a registry, for example oci://registry.example/charts/web.")),
    archive: optional(archive),
    version: optional(
      text("The chart's version, or a range of versions such as ^25. Absent: the newest.", {
        minLength: 1,
        maxLength: VERSION_CHARS,
      }),
    ),
    releaseName: optional(
      text("What the chart sees as the release's name. Absent: the DistributedApplication's own name.", {
        minLength: 1,
        maxLength: 53,
        pattern: DNS_LABEL,
      }),
    ),
    values: optional(anyObject("Values for the chart. They win over valuesFrom; an override's values win over both.")),
    valuesFrom: optional(
      list(
        "More values, from ConfigMaps and Secrets of this namespace; later ones win.",
        object(
          "One of them.",
          {
            configMap: optional(objectName("A ConfigMap in this namespace.")),
            secret: optional(objectName("A Secret in this namespace.")),
            key: text("The key that holds the values as YAML.", {
              minLength: 1,
              maxLength: NAME_CHARS,
              default: "values.yaml",
            }),
          },
          {
            rules: [
              {
                rule: "has(self.configMap) != has(self.secret)",
                message: "valuesFrom needs exactly one of configMap and secret",
              },
            ],
          },
        ),
        { maxItems: 16 },
      ),
    ),
    credentials,
  },
  {
    rules: [
      {
        rule: "[has(self.repository), has(self.oci), has(self.archive)].exists_one(x, x)",
        message: "helm needs exactly one of repository (with chart), oci and archive",
      },
      { rule: "has(self.repository) == has(self.chart)", message: "helm.repository and helm.chart belong together" },
    ],
  },
);

const kustomize = object(
  "A kustomization. Remote bases, plugins and the network are not available to it.",
  {
    path: text("The folder of the kustomization inside the archive.", { minLength: 1, maxLength: 1024, default: "." }),
    archive: optional(archive),
    oci: optional(ociUrl("An artifact in a registry that holds the archive.")),
    credentials,
  },
  {
    rules: [{ rule: "has(self.archive) != has(self.oci)", message: "kustomize needs exactly one of archive and oci" }],
  },
);

const manifests = object(
  "The objects themselves.",
  {
    inline: optional(list("The objects.", embeddedObject("One object."), { minItems: 1, maxItems: 500 })),
    configMap: optional(objectName("A ConfigMap in this namespace; every entry holds objects as YAML.")),
  },
  {
    rules: [
      {
        rule: "has(self.inline) != has(self.configMap)",
        message: "manifests needs exactly one of inline and configMap",
      },
    ],
  },
);

export const source = object(
  "Where the objects come from. Exactly one of helm, kustomize and manifests.",
  { helm: optional(helm), kustomize: optional(kustomize), manifests: optional(manifests) },
  {
    rules: [
      {
        rule: "[has(self.helm), has(self.kustomize), has(self.manifests)].exists_one(x, x)",
        message: "source needs exactly one of helm, kustomize and manifests",
      },
    ],
  },
);

export const lookups = choice(
  "What Helm's lookup sees. Own: what this application distributed before, so that generated passwords stay. Empty: nothing. Refuse: a chart that looks anything up is refused.",
  ["Own", "Empty", "Refuse"],
  { default: "Own" },
);
