// `npm ci` refuses a lock file without an entry for an optional package of another platform, and `npm install` omits
// those if the registry in use does not serve them. This script adds them (version and platform, which is all that npm
// reads to skip them); with --check it only lists the missing ones. Run it after every `npm install`.
import { readFileSync, writeFileSync } from "node:fs";

const SYSTEMS = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"];
const PROCESSORS = ["arm", "arm64", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "wasm32", "x64"];

const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
const missing = {};
for (const [path, { optionalDependencies = {} }] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    const known = [`${path}/node_modules/${name}`, `node_modules/${name}`].some((place) => place in lock.packages);
    if (!known && /^\d/.test(version)) missing[`node_modules/${name}`] = entry(name, version);
  }
}

function entry(name, version) {
  const words = name.split(/[-/]/);
  const cpu = words.filter((word) => PROCESSORS.includes(word)).slice(0, 1);
  const os = words.filter((word) => SYSTEMS.includes(word)).slice(0, 1);
  return {
    version,
    ...(cpu.length > 0 && { cpu }),
    dev: true,
    ...(words.includes("musl") && { libc: ["musl"] }),
    optional: true,
    ...(os.length > 0 && { os }),
  };
}

const names = Object.keys(missing);
if (names.length > 0 && process.argv.includes("--check")) {
  console.error(`package-lock.json lacks ${names.join(", ")}: run node scripts/complete-lock.mjs`);
  process.exit(1);
}
if (names.length > 0) {
  const { "": root, ...packages } = { ...lock.packages, ...missing };
  const sorted = Object.fromEntries(Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync("package-lock.json", `${JSON.stringify({ ...lock, packages: { "": root, ...sorted } }, null, 2)}\n`);
  console.log(`${names.length} entries added`);
}
