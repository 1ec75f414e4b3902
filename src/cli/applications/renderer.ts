import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { createRenderer, type Renderer } from "../../charts/index.ts";
import type { Clock, Log, Random } from "../../runtime/index.ts";
import type { Io } from "../terminal/io.ts";
import type { ProgramOptions } from "./program-options.ts";

interface Parts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Renders with the given helm and kustomize, otherwise with those on PATH. */
export function openRenderer(io: Pick<Io, "env">, parts: Parts, programs: ProgramOptions = {}): Renderer {
  return createRenderer({ searchPath: io.env.PATH ?? "", ...common(parts, programs) });
}

/**
 * For a person at this machine: also with the programs that `npm run apps:build` built in a checkout, and from a chart
 * repository or a registry that runs here.
 */
export function openLocalRenderer(io: Pick<Io, "env">, parts: Parts, programs: ProgramOptions = {}): Renderer {
  const searchPath = [io.env.PATH ?? "", builtPrograms(io.env)].join(":");
  return createRenderer({ searchPath, allowLoopback: true, ...common(parts, programs) });
}

function common(parts: Parts, { helm, kustomize }: ProgramOptions) {
  return {
    workFolder: tmpdir(),
    ...(helm !== undefined && { helm }),
    ...(kustomize !== undefined && { kustomize }),
    ...parts,
  };
}

/** Where test/tools/build.ts leaves links to them. */
function builtPrograms({ LOCKSTEP_CACHE, XDG_CACHE_HOME }: Io["env"]): string {
  return join(LOCKSTEP_CACHE ?? join(XDG_CACHE_HOME ?? join(homedir(), ".cache"), "lockstep"), "programs");
}
