import { tmpdir } from "node:os";
import { createRenderer, type Renderer } from "../../charts/index.ts";
import type { Clock, Log, Random } from "../../runtime/index.ts";
import type { Io } from "../terminal/io.ts";

/** Renders with the helm and kustomize on PATH. */
export function openRenderer(
  io: Pick<Io, "env">,
  parts: { readonly clock: Clock; readonly random: Random; readonly log: Log },
): Renderer {
  return createRenderer({ searchPath: io.env.PATH ?? "", workFolder: tmpdir(), ...parts });
}
