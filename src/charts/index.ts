/**
 * Turns the source of an application (a Helm chart, a kustomize folder, manifests) into Kubernetes objects, with the real
 * helm and kustomize. Everything about a source is hostile until checked: addresses, archives, what templates do, and
 * how much they print.
 *
 * How the parts follow one another: `source/` fetches an archive and compares digests; `archive/` checks its files;
 * `run/` runs a program without network, home or much memory; `helm/` and `kustomize/` say how each is called and what
 * of it is refused; `read/` turns the output into checked objects in apply order. `renderer.ts` joins them and keeps
 * results by the content of their inputs, so that random values are rendered once.
 *
 * A refusal has a reason, a message with the program's own words, and a remedy. Imports `runtime` and `kube` only.
 */
export type { ChartLimits } from "./limits.ts";
export { CHART_LIMITS } from "./limits.ts";
export { type YamlRead, YamlReader } from "./read/yaml-reader.ts";
export type { RendererOptions } from "./renderer.ts";
export { createRenderer } from "./renderer.ts";
export type {
  ArchiveLocation,
  ChartLocation,
  ChartSource,
  Credentials,
  Hook,
  HookEvent,
  Lookups,
  OciLocation,
  ProgramReport,
  ProgramStatus,
  RefusalReason,
  Refused,
  Rendered,
  RenderedObject,
  Renderer,
  RenderRequest,
  RenderResult,
} from "./types.ts";
export { HOOK_EVENTS } from "./types.ts";
