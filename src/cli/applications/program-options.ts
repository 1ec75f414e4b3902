/** Apart from the renderer itself, so that `--help` is fast. */
export const HELM_OPTION = ["--helm <path>", "the helm that renders charts (default: helm on PATH)"] as const;
export const KUSTOMIZE_OPTION = [
  "--kustomize <path>",
  "the kustomize that renders kustomizations (default: kustomize on PATH)",
] as const;

export interface ProgramOptions {
  readonly helm?: string;
  readonly kustomize?: string;
}
