export function bundle(options: {
  readonly entryPoints: Readonly<Record<string, string>>;
  readonly outdir: string;
  readonly extension?: string;
}): Promise<void>;
