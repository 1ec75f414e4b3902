import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
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

/** As `openRenderer`, but also with those that `npm run apps:build` built in a checkout: for the fleet on this machine. */
export function openLocalRenderer(
  io: Pick<Io, "env">,
  parts: { readonly clock: Clock; readonly random: Random; readonly log: Log },
  programs: ProgramOptions = {},
): Renderer {
  const PATH = [io.env.PATH ?? "", builtPrograms(io.env)].join(":");
  return openRenderer({ env: { ...io.env, PATH } }, parts, programs);
}

/** Where test/tools/build.ts leaves links to them. */
function builtPrograms({ LOCKSTEP_CACHE, XDG_CACHE_HOME }: Io["env"]): string {
  return join(LOCKSTEP_CACHE ?? join(XDG_CACHE_HOME ?? join(homedir(), ".cache"), "lockstep"), "programs");
}
