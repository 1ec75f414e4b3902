/** Apart from the engines themselves, so that `--help` is fast; engine.ts reads it. */
export const ENGINE_OPTION = [
  "--engine <name>",
  "the hub's engine: karmada or ocm (default: the one that the hub serves)",
] as const;

export interface EngineOption {
  readonly engine?: string;
}
