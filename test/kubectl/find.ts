import { spawn } from "node:child_process";
import { ensurePrograms } from "../tools/programs.ts";

/** The oldest kubectl the README names. */
export const OLDEST_MINOR = 30;

export interface FoundKubectl {
  readonly path: string;
  readonly version: string;
  /** Where it came from, for the one line that says so. */
  readonly source: "LOCKSTEP_KUBECTL" | "PATH" | "built from its Go module";
}

/**
 * The real kubectl: the program LOCKSTEP_KUBECTL names, else one on PATH that is new enough, else one built from the
 * pinned Kubernetes module. Throws when there is none: these tests mean nothing without it.
 */
export async function findKubectl(): Promise<FoundKubectl> {
  const given = process.env.LOCKSTEP_KUBECTL;
  if (given) {
    const version = await clientVersion(given);
    if (version === undefined)
      throw new Error(`LOCKSTEP_KUBECTL is ${given}, which does not answer 'version --client'`);
    return { path: given, version, source: "LOCKSTEP_KUBECTL" };
  }
  const version = await clientVersion("kubectl");
  if (version !== undefined && isNewEnough(version)) return { path: "kubectl", version, source: "PATH" };
  if (version !== undefined) console.error(`kubectl on PATH is ${version}; at least 1.${OLDEST_MINOR} is needed`);
  const { kubectl } = await ensurePrograms(["kubectl"]);
  return { path: kubectl, version: (await clientVersion(kubectl)) ?? "", source: "built from its Go module" };
}

function isNewEnough(version: string): boolean {
  const match = /^v(\d+)\.(\d+)\./.exec(version);
  return match !== null && (Number(match[1]) > 1 || Number(match[2]) >= OLDEST_MINOR);
}

/** Undefined when the program is not there or does not answer. */
function clientVersion(program: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(program, ["version", "--client", "-o", "json"], { stdio: ["ignore", "pipe", "ignore"] });
    let out = "";
    child.stdout.on("data", (data) => {
      out += data;
    });
    child.on("error", () => resolve(undefined));
    child.on("close", (code) => {
      if (code !== 0) return resolve(undefined);
      try {
        const version: unknown = JSON.parse(out).clientVersion.gitVersion;
        resolve(typeof version === "string" ? version : undefined);
      } catch {
        resolve(undefined);
      }
    });
  });
}
