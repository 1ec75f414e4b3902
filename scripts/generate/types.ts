/** One generated file. Paths are relative to the repository's root. */
export interface GeneratedFile {
  readonly path: string;
  readonly text: string;
}

/** Generates files only from the sources: the same sources give the same bytes. */
export type Generator = () => GeneratedFile[] | Promise<GeneratedFile[]>;
