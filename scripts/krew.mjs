// The manifest for krew, kubectl's plugin manager: `node scripts/krew.mjs ARCHIVE URI`, where ARCHIVE is what `npm pack`
// wrote, and URI is where users download it from. Prints the manifest.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { stringify } from "yaml";

/** @param {{ archive: Buffer, uri: string, version: string, description: string }} release */
export function krewManifest({ archive, uri, version, description }) {
  const sha256 = createHash("sha256").update(archive).digest("hex");
  // A Node program is the same on all of these; krew itself demands one entry for each platform, or an expression.
  const selector = { matchExpressions: [{ key: "os", operator: "In", values: ["darwin", "linux"] }] };
  const files = ["bin", "dist", "LICENSE", "NOTICE", "package.json"].map((path) => ({
    from: `package/${path}${path.includes(".") || path === path.toUpperCase() ? "" : "/*"}`,
    to: path.includes(".") || path === path.toUpperCase() ? "." : path,
  }));
  return stringify({
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: "lockstep" },
    spec: {
      version: `v${version}`,
      shortDescription: "Roll out stateful applications over clusters",
      description: `${description}\n`,
      caveats: "This plugin needs Node 20.19 or newer on PATH.\n",
      platforms: [{ selector, uri, sha256, files, bin: "bin/kubectl-lockstep" }],
    },
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [path, uri] = process.argv.slice(2);
  if (!path || !uri) {
    console.error("usage: node scripts/krew.mjs ARCHIVE URI");
    process.exit(1);
  }
  const { version, description } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  process.stdout.write(krewManifest({ archive: readFileSync(path), uri, version, description }));
}
