/** One file that is made, not written. Paths are relative to the repository's root. */
export interface GeneratedFile {
  path: string;
  text: string;
}

/** Makes files from the sources alone: the same sources give the same bytes. */
export type Generator = () => GeneratedFile[] | Promise<GeneratedFile[]>;
