import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import type { RefusalError } from "../refusal.ts";
import type { ProgramStatus } from "../types.ts";
import { WorkFolder } from "./folder.ts";
import type { ProgramRunner } from "./program.ts";

export type ProgramName = "helm" | "kustomize";

export interface ProgramPlaces {
  /** A path, or a name to look for on `searchPath`. */
  readonly given: string;
  readonly searchPath: string;
  /** Where its version is asked in an empty folder. */
  readonly workFolder: string;
}

interface Requirement {
  readonly accepts: (major: number, minor: number) => boolean;
  readonly versions: string;
  readonly args: readonly string[];
  readonly website: string;
}

const REQUIREMENTS: Readonly<Record<ProgramName, Requirement>> = {
  helm: {
    // --dry-run=server, which answers lookups, is from 3.13.
    accepts: (major, minor) => major === 4 || (major === 3 && minor >= 13),
    versions: "3.13 or newer",
    args: ["version", "--template", "{{.Version}}"],
    website: "https://helm.sh/docs/intro/install",
  },
  kustomize: {
    accepts: (major) => major >= 5,
    versions: "5.0 or newer",
    args: ["version"],
    website: "https://kubectl.docs.kubernetes.io/installation/kustomize",
  },
};

/** Finds a program and asks for its version. */
export async function findProgram(
  name: ProgramName,
  places: ProgramPlaces,
  runner: ProgramRunner,
): Promise<ProgramStatus> {
  const path = await executable(places);
  const remedy = remedyFor(name);
  if (path === undefined) {
    const where = places.given.includes("/") ? `at '${places.given}'` : "on the PATH of the controller";
    return {
      kind: "missing",
      message: `${name} is needed to render this application, and there is none ${where}`,
      remedy,
    };
  }
  const version = await versionOf(name, path, places, runner).catch((error: RefusalError) => error.message);
  const numbers = /v?(\d+)\.(\d+)(?:\.\d+)?/.exec(version);
  if (!numbers)
    return { kind: "missing", message: `${path} does not tell its version: ${version.slice(0, 200)}`, remedy };
  const { accepts, versions } = REQUIREMENTS[name];
  if (!accepts(Number(numbers[1]), Number(numbers[2]))) {
    return { kind: "missing", message: `${path} is ${name} ${numbers[0]}, and ${versions} is needed`, remedy };
  }
  return { kind: "found", path, version: numbers[0] };
}

function remedyFor(name: ProgramName): string {
  const { versions, website } = REQUIREMENTS[name];
  return `install ${name} ${versions} (${website}) where the controller runs, or give its path with --${name}`;
}

async function versionOf(
  name: ProgramName,
  program: string,
  places: ProgramPlaces,
  runner: ProgramRunner,
): Promise<string> {
  const { args } = REQUIREMENTS[name];
  return WorkFolder.within(places.workFolder, async (folder) => {
    const { stdout, stderr } = await runner.run({ program, args, folder }, new AbortController().signal);
    return stdout.toString("utf8").trim() || stderr.trim();
  });
}

async function executable({ given, searchPath }: ProgramPlaces): Promise<string | undefined> {
  const candidates = given.includes("/")
    ? [resolve(given)]
    : searchPath
        .split(":")
        .filter(isAbsolute)
        .map((folder) => join(folder, given));
  for (const path of candidates) {
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return undefined;
}
