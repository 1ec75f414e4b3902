/**
 * deploy/sbom.spdx.json: every package of package-lock.json in SPDX 2.3. Those whose code is in the program are contained
 * in it; the others only build and test it. It names no time, so that the same lock file gives the same bytes.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { bundledFiles } from "../bundle.mjs";
import type { GeneratedFile } from "./types.ts";

const LOCK = fileURLToPath(new URL("../../package-lock.json", import.meta.url));
/** SPDX demands a time. */
const CREATED = "1970-01-01T00:00:00Z";
const PROGRAM = "SPDXRef-lockstep";

interface Locked {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
}

interface LockFile {
  readonly name: string;
  readonly version: string;
  readonly packages: Readonly<Record<string, Locked>>;
}

export async function sbom(): Promise<GeneratedFile[]> {
  const text = readFileSync(LOCK, "utf8");
  const lock: LockFile = JSON.parse(text);
  const bundled = new Set((await bundledFiles()).map(folderOf));
  const document = sbomOf(lock, createHash("sha256").update(text).digest("hex"), (path) => bundled.has(path));
  return [{ path: "deploy/sbom.spdx.json", text: `${JSON.stringify(document, null, 2)}\n` }];
}

export function sbomOf(lock: LockFile, digest: string, isBundled: (path: string) => boolean) {
  const { "": root, ...others } = lock.packages;
  const packages = Object.entries(others).map(([path, locked]) => ({ path, id: idOf(path), ...locked }));
  return {
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: "SPDXRef-DOCUMENT",
    name: `${lock.name}-${lock.version}`,
    documentNamespace: `urn:lockstep:sbom:${lock.version}:${digest}`,
    creationInfo: { created: CREATED, creators: ["Tool: lockstep-npm-run-generate"] },
    packages: [
      packageOf(PROGRAM, lock.name, { ...root, version: lock.version }),
      ...packages.map(({ path, id, ...locked }) => packageOf(id, nameOf(path), locked)),
    ],
    relationships: [
      { spdxElementId: "SPDXRef-DOCUMENT", relationshipType: "DESCRIBES", relatedSpdxElement: PROGRAM },
      ...packages.map(({ path, id }) =>
        isBundled(path)
          ? { spdxElementId: PROGRAM, relationshipType: "CONTAINS", relatedSpdxElement: id }
          : { spdxElementId: id, relationshipType: "DEV_DEPENDENCY_OF", relatedSpdxElement: PROGRAM },
      ),
    ],
  };
}

function packageOf(id: string, name: string, { version = "", license, integrity }: Locked) {
  return {
    SPDXID: id,
    name,
    versionInfo: version,
    downloadLocation: "NOASSERTION",
    filesAnalyzed: false,
    licenseConcluded: "NOASSERTION",
    licenseDeclared: license ?? "NOASSERTION",
    copyrightText: "NOASSERTION",
    ...(integrity !== undefined && { checksums: [checksumOf(integrity)] }),
    externalRefs: [
      {
        referenceCategory: "PACKAGE-MANAGER",
        referenceType: "purl",
        referenceLocator: `pkg:npm/${name.replace("@", "%40")}@${version}`,
      },
    ],
  };
}

/** `sha512-BASE64` of the lock file, as SPDX writes it. */
function checksumOf(integrity: string) {
  const [algorithm = "", base64 = ""] = integrity.split("-", 2);
  return { algorithm: algorithm.toUpperCase(), checksumValue: Buffer.from(base64, "base64").toString("hex") };
}

/** The place in the lock file, which is there once. */
function idOf(path: string): string {
  return `SPDXRef-${path.replaceAll("node_modules/", "").replace(/[^A-Za-z0-9.]+/g, "-")}`;
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}

function folderOf(file: string): string {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? "";
}
