/** Writes a set of manifests in the format that the user asks for, to standard output or into a folder. */
import { version } from "../../../../package.json";
import { DEFAULT_SYSTEM_NAMESPACE } from "../../../api/index.ts";
import type { JsonObject } from "../../../runtime/index.ts";
import { CommandError } from "../../errors.ts";
import { namedEngine } from "../../hub/engine.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Io } from "../../terminal/io.ts";
import { print } from "../../terminal/output.ts";
import { workloadsOf } from "../workload-option.ts";
import type { InstallOptions } from "./command.ts";
import { controllerArguments, DEFAULT_HOST, hostManifests } from "./host.ts";
import { whyNotInPod } from "./hub-kubeconfig.ts";
import { chartValue, helmChart, kustomizeBase, type PackagedFile, yamlText } from "./package.ts";

/** Built with the repository's Dockerfile; an administrator pushes it to a registry of their own. */
const IMAGE = "lockstep";
const HUB_CHART = { name: "lockstep-hub", description: "Lockstep on the hub: CRDs, rights, policies" };
const HOST_CHART = { name: "lockstep-controller", description: "Lockstep's controller in a host cluster" };

export function writeHub(io: Io, options: InstallOptions, manifests: readonly JsonObject[]): undefined {
  return write(io, options, {
    yaml: () => yamlText(manifests),
    kustomize: () => kustomizeBase(manifests),
    // The policies' texts contain the settings of the hub, so this chart has no values.
    helm: () => helmChart({ ...HUB_CHART, version, manifests, values: {} }),
  });
}

/** Each way to write one set. */
interface Formats {
  yaml(): string;
  kustomize(): PackagedFile[];
  helm(): PackagedFile[];
}

function write(io: Io, { format, output }: InstallOptions, formats: Formats): undefined {
  if (format === "yaml") {
    if (output === undefined) print(io, formats.yaml());
    else writeFiles(io, output, [{ path: "manifests.yaml", text: formats.yaml() }]);
    return undefined;
  }
  if (format !== "helm" && format !== "kustomize") {
    throw new CommandError(`--format '${format}' is not known; use yaml, helm or kustomize`);
  }
  if (output === undefined) throw new CommandError(`--format ${format} writes several files; give --output FOLDER`);
  writeFiles(io, output, formats[format]());
  return undefined;
}

function writeFiles(io: Io, folder: string, files: readonly PackagedFile[]): void {
  for (const { path, text } of files) {
    io.writeFile(`${folder}/${path}`, text);
    print(io, `${folder}/${path} written`);
  }
}

/** Never applied from here: the context is the hub's, and the host is another cluster. */
export function writeHost(io: Io, options: InstallOptions & GlobalOptions): undefined {
  if (options.apply) {
    throw new CommandError(
      "--set host cannot be applied with the hub's context; print it and apply it to the host cluster: lockstep install --set host | kubectl apply -f -",
    );
  }
  const args = controllerArguments({
    ...(options.engine !== undefined && { engine: namedEngine(options.engine).name }),
    rendersSources: options.applications === true,
    systemNamespace: options.systemNamespace,
    workloads: workloadsOf(options.workload),
    requireAllowedClusters: options.requireAllowedClusters === true,
  });
  const namespace = options.namespace ?? DEFAULT_SYSTEM_NAMESPACE;
  const values = {
    image: options.image ?? `${IMAGE}:${version}`,
    ...DEFAULT_HOST,
    ...(options.kubeconfigSecret !== undefined && { kubeconfigSecret: options.kubeconfigSecret }),
    arguments: args,
  };
  const hubKubeconfig = hubKubeconfigOption(io, options);
  const manifests = hostManifests({ ...values, namespace, hubKubeconfig });
  const inChart = (name: keyof typeof values) => chartValue(`Values.${name}`);
  return write(io, options, {
    yaml: () => yamlText(manifests),
    kustomize: () => kustomizeBase(manifests),
    helm: () =>
      helmChart({
        ...HOST_CHART,
        version,
        values: { ...values, hubKubeconfig: "" },
        onlyWith: { Secret: "hubKubeconfig" },
        // Helm creates the namespace: helm install --create-namespace.
        manifests: hostManifests({
          namespace: chartValue("Release.Namespace"),
          image: inChart("image"),
          replicas: inChart("replicas"),
          resources: inChart("resources"),
          nodeOptions: inChart("nodeOptions"),
          kubeconfigSecret: inChart("kubeconfigSecret"),
          hubKubeconfig: chartValue("Values.hubKubeconfig"),
          priorityClassName: inChart("priorityClassName"),
          arguments: inChart("arguments"),
          egressPorts: inChart("egressPorts"),
        }).filter(({ kind }) => kind !== "Namespace"),
      }),
  });
}

/** Undefined: an administrator creates the Secret. */
function hubKubeconfigOption(io: Io, { hubKubeconfig: path, format }: InstallOptions): string | undefined {
  if (path === undefined) return undefined;
  if (format === "helm") {
    // A chart is kept and shared; credentials are given to each release.
    throw new CommandError(
      `--hub-kubeconfig is not written into a chart; give it to Helm: helm install ... --set-file hubKubeconfig=${path}`,
    );
  }
  const text = io.readFile(path);
  const problem = whyNotInPod(text);
  if (problem !== undefined) throw new CommandError(`--hub-kubeconfig ${path}: ${problem}`);
  return text;
}
