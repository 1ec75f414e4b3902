// The house rules that no linter knows: import directions between the rooms of src/ and between some of their folders,
// each room's door, the length of a file, and the bans on ambient time, randomness and I/O outside the seams. Prints one line per violation; exits 1 if there is any.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * Imports only point upwards in this list (ARCHITECTURE.md has the table). Rooms in one row may not import each other.
 */
export const ROOMS = [
  ["runtime"],
  ["contract"],
  ["rollout"],
  ["api"],
  ["plan", "applications"],
  ["plan"],
  ["jobs"],
  ["render"],
  ["kube"],
  ["charts"],
  ["interpret"],
  ["engine"],
  ["apps"],
  ["controllers"],
  ["sdk"],
  ["apiserver"],
  ["embedded"],
  ["sim"],
  ["web"],
  ["cli"],
];

/** Rooms that may import less than the list allows, each for a reason. */
const MAY_IMPORT = {
  contract: [], // operators ship it unchanged
  rollout: ["runtime"], // for every kind, regardless of its API
  plan: ["runtime", "contract", "rollout", "api"],
  applications: ["runtime", "rollout"],
  jobs: ["runtime", "rollout"],
  render: ["runtime", "contract", "rollout", "api", "plan"],
  kube: ["runtime"], // the Kubernetes runtime does not know Lockstep
  charts: ["runtime", "kube"], // objects from a source, regardless of where they go
  interpret: ["runtime", "contract", "api", "kube"],
  engine: ["runtime", "contract", "api", "kube"], // returns raw snapshots; does not know the interpreter
  sdk: ["runtime", "contract", "api"],
  web: ["runtime"], // what a viewer sees and does is behind its port
  apiserver: ["runtime", "api"], // a Kubernetes server; the schema engine is api's
};

/** Sources of ambient time, randomness or I/O. `new Date(value)` is a pure conversion and allowed. */
const BANS = [
  [/\bDate\.now\b/, "Date.now: take a Clock"],
  [/\bnew Date\(\s*\)/, "new Date(): take a Clock"],
  [/(?<![.\w])Date\(\s*\)/, "Date(): take a Clock"],
  [/(?<![.\w])set(?:Timeout|Interval|Immediate)\b/, "timers: take a Clock"],
  [/\bAbortSignal\.timeout\b/, "AbortSignal.timeout: take a Clock"],
  [/\bMath\.random\b/, "Math.random: take a Random"],
  [/\brandom(?:UUID|Bytes|Int)\b/, "node:crypto randomness: take a Random"],
  [/(?<![.\w])performance\.now\b/, "performance.now: take a Clock"],
  [/(?<![.\w])fetch\(/, "fetch: take a Transport"],
  [/(?<![.\w])process\.hrtime\b/, "process.hrtime: take a Clock"],
  [/^(?:export )?let /m, "mutable module state: put it into an object with an owner"],
];

const BANNED_IMPORTS = [
  "node:timers",
  "node:timers/promises",
  "node:fs",
  "node:fs/promises",
  "node:net",
  "node:tls",
  "node:http",
  "node:https",
  "node:http2",
  "node:child_process",
  "node:zlib",
  "node:dns",
  "node:worker_threads",
  "undici",
];

/** Files that are an edge to the outside, each with the reason. Whole folders end with '/'. */
const EDGES = [
  "src/runtime/", // the seams themselves
  "src/cli/", // a process: terminal, files, signals
  "src/apiserver/front/", // the HTTP front of the socketless server
  "src/embedded/process/", // runs pods as real processes
  "src/sim/world/drain.ts", // the only real timer behind virtual time: a turn of the event loop
  "src/charts/run/", // runs helm and kustomize, in temporary folders
  "src/charts/source/agent.ts",
  "src/charts/source/http.ts", // fetches charts
  "src/charts/helm/stand-in-server.ts", // what helm takes for a cluster, on loopback
  "src/charts/archive/gzip.ts",
  "src/charts/read/thread.ts", // parses large output in a thread
  "src/charts/read/worker.ts",
  "src/web/", // the dashboard's HTTP server
  "src/kube/config/", // reads kubeconfig files and runs credential plugins
];

/** Additional doors of a room, for what most users of the room must not load, each with the reason. */
const SIDE_DOORS = [
  "src/apiserver/front/index.ts", // sockets and certificates; the socketless server has none
  "src/embedded/process/index.ts", // real processes; the simulator has none
];

/** Folders with a narrower view than their room, each with what they may not import and the reason. */
const FOLDERS = [
  {
    in: /^src\/controllers\/common\//,
    from: /^src\/controllers\/(?!common\/|testing\/)/,
    why: "what every kind uses knows no kind",
  },
  { in: /^src\/plan\/(?!check\/)/, from: /^src\/plan\/check\//, why: "what checks the planner does not ship with it" },
  { in: /^src\/jobs\/(?!check\/)/, from: /^src\/jobs\/check\//, why: "what checks the planner does not ship with it" },
  { in: /^src\/cli\/(?:hub|preview|terminal)\//, from: /^src\/cli\/commands\//, why: "commands build on it" },
  { in: /^src\/cli\/terminal\//, from: /^src\/cli\/(?:hub|preview)\//, why: "the terminal knows no hub" },
];

/** What the page may have from outside its own folder. Everything else would be sent to each browser. */
const PAGE_PACKAGES = ["preact", "preact/hooks", "@preact/signals"];
const PAGE_SHARES = "src/web/types.ts";
/** Edges of the page: who sends requests, and the file that is saved. */
const PAGE_EDGES = ["web/api.ts", "web/state.ts", "web/parts/replay.tsx"];
const PAGE_BANS = [
  [/(?<![.\w])(?:fetch|XMLHttpRequest|EventSource|WebSocket)\(/, "requests: go through web/api.ts or web/state.ts"],
  [
    /\bdangerouslySetInnerHTML\b|\.(?:inner|outer)HTML\b|\binsertAdjacentHTML\b/,
    "markup from text: let Preact write it",
  ],
];

/** A longer file is too long to read from top to bottom. */
const MAX_LINES = 600;

export function violations(file, text) {
  const found = [];
  const lines = text.split("\n").length - 1;
  if (lines > MAX_LINES) found.push(`${file}: ${lines} lines; split it at ${MAX_LINES} at the latest`);
  const room = roomOf(file);
  const code = withoutCommentsAndStrings(text);
  const isTest = file.endsWith(".test.ts") || file.includes("/testing/");
  const isEdge = EDGES.some((edge) => (edge.endsWith("/") ? file.startsWith(edge) : file === edge));

  for (const { specifier, line } of importsOf(text)) {
    const at = `${file}:${line}`;
    if (!isEdge && !isTest && BANNED_IMPORTS.includes(specifier)) {
      found.push(`${at}: imports ${specifier}: I/O goes through the seams of src/runtime`);
    }
    if (!specifier.startsWith(".")) continue;
    const target = relative(".", resolve(dirname(file), specifier));
    if (target.startsWith("web/")) found.push(`${at}: imports ${target}: the page runs only in a browser`);
    const targetRoom = roomOf(target);
    if (!isTest) {
      for (const folder of FOLDERS) {
        if (folder.in.test(file) && folder.from.test(target)) found.push(`${at}: imports ${target}: ${folder.why}`);
      }
    }
    if (!targetRoom || targetRoom === room) continue;
    if (!isTest && !mayImport(room, targetRoom)) found.push(`${at}: ${room} may not import ${targetRoom}`);
    const isDoor = target === `src/${targetRoom}/index.ts` || SIDE_DOORS.includes(target);
    if (!isDoor && !target.includes("/testing/")) {
      found.push(`${at}: reaches behind the door of ${targetRoom}; import src/${targetRoom}/index.ts`);
    }
  }
  const accessor = /^\s+private (?!constructor\b)/m.exec(code);
  if (accessor)
    found.push(`${file}:${lineAt(code, accessor.index + 1)}: private: name it with #, which the engine keeps`);
  if (isTest || isEdge) return found;
  for (const [pattern, remedy] of BANS) {
    const match = pattern.exec(code);
    if (match) found.push(`${file}:${lineAt(code, match.index)}: ${remedy}`);
  }
  return found;
}

/** The page is a room with one door to the others: the types that it exchanges with its server. */
export function pageViolations(file, text) {
  const found = [];
  const lines = text.split("\n").length - 1;
  if (lines > MAX_LINES) found.push(`${file}: ${lines} lines; split it at ${MAX_LINES} at the latest`);
  if (/\.test\.tsx?$/.test(file)) return found;
  for (const { specifier, line } of importsOf(text)) {
    const at = `${file}:${line}`;
    const target = relative(".", resolve(dirname(file), specifier));
    if (!specifier.startsWith(".")) {
      if (!PAGE_PACKAGES.includes(specifier)) found.push(`${at}: the page may not import ${specifier}`);
    } else if (target === "web/main.tsx") found.push(`${at}: imports ${target}, where the page begins`);
    else if (!target.startsWith("web/") && target !== PAGE_SHARES)
      found.push(`${at}: the page shares only ${PAGE_SHARES} with the server`);
  }
  const code = withoutCommentsAndStrings(text);
  for (const [pattern, remedy] of PAGE_BANS) {
    const match = pattern.exec(code);
    if (match && !(PAGE_EDGES.includes(file) && pattern === PAGE_BANS[0][0])) {
      found.push(`${file}:${lineAt(code, match.index)}: ${remedy}`);
    }
  }
  return found;
}

function mayImport(from, to) {
  if (!from) return true;
  const allowed = MAY_IMPORT[from];
  if (allowed) return allowed.includes(to);
  return rank(to) < rank(from);
}

function rank(room) {
  const index = ROOMS.findIndex((row) => row.includes(room));
  if (index < 0) throw new Error(`src/${room} is not in the list of rooms (scripts/check-rooms.mjs)`);
  return index;
}

function roomOf(file) {
  const match = /^src\/([^/]+)\//.exec(file);
  return match?.[1];
}

function* importsOf(text) {
  const pattern = /(?:\bfrom\s*|\bimport\s*\(\s*|^import\s+)["']([^"']+)["']/gm;
  for (const match of text.matchAll(pattern)) yield { specifier: match[1], line: lineAt(text, match.index) };
}

function lineAt(text, index) {
  return text.slice(0, index).split("\n").length;
}

/** Keeps the lines, so that positions stay correct. */
function withoutCommentsAndStrings(text) {
  return text.replace(
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g,
    (match) => match.replace(/[^\n]/g, " "),
  );
}

function* sourceFiles(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* sourceFiles(path);
    else if (/\.tsx?$/.test(entry.name)) yield path;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const read = (file) => readFileSync(file, "utf8");
  const found = [
    ...[...sourceFiles("src")].flatMap((file) => violations(file, read(file))),
    ...[...sourceFiles("web")].flatMap((file) => pageViolations(file, read(file))),
  ];
  for (const line of found) console.error(line);
  process.exit(found.length === 0 ? 0 : 1);
}
