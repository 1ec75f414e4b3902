/** The other objects that an object needs in the same cluster. */
import { objectAt, objectsAt, textAt } from "../fields.ts";
import type { Dependency, Handler } from "../operations.ts";
import { sortedDependencies } from "../results.ts";
import { podDependencies } from "./pod.ts";

type Dependencies = Handler<"InterpretDependency">;

function ofTemplate(...path: string[]): Dependencies {
  return ({ object }) => podDependencies(objectAt(object, ...path) ?? {}, textAt(object, "metadata", "namespace"));
}

/** Deployment, ReplicaSet, DaemonSet, Job. */
export const workloadDependencies = ofTemplate("spec", "template");
export const cronJobDependencies = ofTemplate("spec", "jobTemplate", "spec", "template");
export const podOwnDependencies: Dependencies = ({ object }) =>
  podDependencies(object, textAt(object, "metadata", "namespace"));

/** The StatefulSet itself provides a volume with a claim template's name; it is not a claim of that name. */
export const statefulSetDependencies: Dependencies = (input) => {
  const templates = objectsAt(input.object, "spec", "volumeClaimTemplates");
  const own = new Set(templates.flatMap((template) => textAt(template, "metadata", "name") ?? []));
  return workloadDependencies(input).filter(
    ({ kind, name }) => kind !== "PersistentVolumeClaim" || name === undefined || !own.has(name),
  );
};

/** TLS without a secret is served by the controller's default certificate: there is no dependency. */
export const ingressDependencies: Dependencies = ({ object }) => {
  const namespace = textAt(object, "metadata", "namespace");
  return sortedDependencies(
    objectsAt(object, "spec", "tls").flatMap((tls): Dependency[] => {
      const name = textAt(tls, "secretName");
      return name ? [{ apiVersion: "v1", kind: "Secret", ...(namespace && { namespace }), name }] : [];
    }),
  );
};

/** The Service that Karmada derives from an import, and the endpoints collected for it. */
export const serviceImportDependencies: Dependencies = ({ object }) => {
  const namespace = textAt(object, "metadata", "namespace");
  const service = `derived-${textAt(object, "metadata", "name") ?? ""}`;
  return sortedDependencies([
    { apiVersion: "v1", kind: "Service", ...(namespace && { namespace }), name: service },
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      ...(namespace && { namespace }),
      labelSelector: { matchLabels: { "kubernetes.io/service-name": service } },
    },
  ]);
};
