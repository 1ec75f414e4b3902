interface Bundle {
  readonly entryPoints: Readonly<Record<string, string>>;
  readonly outdir: string;
  readonly extension?: string;
}

export const PROGRAM: Bundle;
export const SDK: Bundle;
export function bundle(options: Bundle): Promise<void>;
export function bundledFiles(): Promise<string[]>;
