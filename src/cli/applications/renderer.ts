import { tmpdir } from "node:os";
import { createRenderer, type Renderer } from "../../charts/index.ts";
import type { Clock, Log, Random } from "../../runtime/index.ts";
import type { Io } from "../terminal/io.ts";
import type { ProgramOptions } from "./program-options.ts";

/** Renders with the given helm and kustomize, otherwise with those on PATH. */
export function openRenderer(
  io: Pick<Io, "env">,
  parts: { readonly clock: Clock; readonly random: Random; readonly log: Log },
  { helm, kustomize }: ProgramOptions = {},
): Renderer {
  return createRenderer({
    searchPath: io.env.PATH ?? "",
    workFolder: tmpdir(),
    ...(helm !== undefined && { helm }),
    ...(kustomize !== undefined && { kustomize }),
    ...parts,
  });
}
