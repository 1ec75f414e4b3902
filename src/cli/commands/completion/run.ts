import type { Command, Option } from "commander";
import { CommandError } from "../../errors.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Io } from "../../terminal/io.ts";
import { natural } from "../../terminal/natural.ts";
import { nearest } from "../../terminal/nearest.ts";
import { print } from "../../terminal/output.ts";
import type { Registry } from "../registry.ts";

/** A shell waits for the answer at every press of Tab. */
const COMPLETION_TIMEOUT = "2s";

/** If there are no candidates, each shell falls back to its own completion of file names. */
const SCRIPTS: Readonly<Record<string, (program: string) => string>> = {
  bash: (program) => `# bash completion of lockstep: source <(lockstep completion bash)
_lockstep_complete() {
  local IFS=$'\n'
  COMPREPLY=($(compgen -W "$(${program} __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _lockstep_complete lockstep
`,
  zsh: (program) => `#compdef lockstep
# zsh completion of lockstep: source <(lockstep completion zsh), or save it as _lockstep in a folder of $fpath
_lockstep() {
  local -a candidates
  candidates=(\${(f)"$(${program} __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( $#candidates )); then compadd -a candidates; else _files; fi
}
if [[ "$funcstack[1]" == _lockstep ]]; then _lockstep "$@"; else compdef _lockstep lockstep; fi
`,
  fish: (program) => `# fish completion of lockstep: lockstep completion fish | source
function __lockstep_complete
  set -l words (commandline -opc)
  set -e words[1]
  set -l current (commandline -ct)
  set -l found (${program} __complete -- $words "$current" 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\n' $found
  else
    __fish_complete_path "$current"
  end
end
complete -c lockstep -f -a '(__lockstep_complete)'
`,
};

export async function runCompletion(io: Io, shell: string): Promise<undefined> {
  const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
  if (!script) {
    const shells = Object.keys(SCRIPTS);
    const like = nearest(shell, shells);
    throw new CommandError(`'${shell}' is not known; ${like ? `did you mean '${like}'?` : `use ${shells.join(", ")}`}`);
  }
  io.stdout.write(script(io.program));
  return undefined;
}

/** Prints the candidates for the last word, one per line. Prints no errors: a shell shows them badly. */
export async function complete(
  registry: Registry,
  words: readonly string[],
  options: GlobalOptions,
): Promise<undefined> {
  const { io, program } = registry;
  try {
    for (const candidate of await candidates(io, program, words, options)) print(io, candidate);
  } catch {
    // No candidates.
  }
  return undefined;
}

/** Where in a command line the next word is expected. */
interface Cursor {
  readonly command: Command;
  /** Words that are neither options nor their values. */
  readonly positionals: readonly string[];
  /** The option whose value comes next. */
  readonly awaits: Option | undefined;
  readonly globals: GlobalOptions;
}

async function candidates(
  io: Io,
  program: Command,
  words: readonly string[],
  options: GlobalOptions,
): Promise<string[]> {
  const current = words.at(-1) ?? "";
  const cursor = cursorOf(program, words.slice(0, -1), options);
  const found = await candidatesAt(io, program, cursor, current);
  return found.filter((candidate) => candidate.startsWith(current));
}

function cursorOf(program: Command, words: readonly string[], options: GlobalOptions): Cursor {
  let command = program;
  let awaits: Option | undefined;
  const positionals: string[] = [];
  const globals: Record<string, string> = {};
  for (const word of words) {
    if (awaits) {
      globals[awaits.attributeName()] = word;
      awaits = undefined;
      continue;
    }
    if (word.startsWith("-")) {
      const option = optionsOf(program, command).find(({ short, long }) => word === short || word === long);
      if (option && (option.required || option.optional)) awaits = option;
      continue;
    }
    const sub = command.commands.find((each) => each.name() === word);
    if (sub && positionals.length === 0) command = sub;
    else positionals.push(word);
  }
  return { command, positionals, awaits, globals: { ...options, ...globals } };
}

function optionsOf(program: Command, command: Command): Option[] {
  return [...command.options, ...(command === program ? [] : program.options)];
}

async function candidatesAt(io: Io, program: Command, cursor: Cursor, current: string): Promise<string[]> {
  const { command, awaits, positionals, globals } = cursor;
  if (awaits) return valuesOf(io, awaits, cursor);
  if (current.startsWith("-")) return optionsOf(program, command).flatMap(({ long }) => (long ? [long] : []));
  const subs = command.commands.filter((each) => !each.name().startsWith("_")).map((each) => each.name());
  if (subs.length > 0 && positionals.length === 0) return command === program ? [...subs, "help"] : subs;
  const argument = command.registeredArguments[positionals.length]?.name();
  if (argument === "name") return objectNames(io, globals);
  if (argument === "cluster") return clusterNames(io, globals);
  if (argument === "shell") return Object.keys(SCRIPTS);
  return [];
}

async function valuesOf(io: Io, option: Option, { globals, positionals }: Cursor): Promise<string[]> {
  switch (option.attributeName()) {
    case "output":
      return ["json", "yaml", "wide", "name"];
    case "cluster":
      return clusterNames(io, globals);
    case "to":
      return destinations(io, globals, positionals[0]);
    case "namespace":
      return list(io, globals, { apiVersion: "v1", kind: "Namespace" }, false);
    case "toRevision":
    case "revision":
      return revisionNames(io, globals, positionals[0]);
    case "for":
      return ["settled", "revision", "ready"];
    case "engine":
      return ["karmada", "ocm"];
    case "logLevel":
      return ["debug", "info", "warn", "error"];
    case "context": {
      const { contextNames } = await import("../../../kube/index.ts");
      const { UP_KUBECONFIG, upKubeconfig } = await import("../../hub/up-kubeconfig.ts");
      const isUp = !io.env.KUBECONFIG && upKubeconfig(io).kind === "found";
      return contextNames({ kubeconfig: globals.kubeconfig ?? (isUp ? UP_KUBECONFIG : undefined) });
    }
    default:
      return [];
  }
}

function objectNames(io: Io, globals: GlobalOptions): Promise<string[]> {
  return list(io, globals, { apiVersion: "apps.karmada.io/v1alpha1", kind: "CrossClusterStatefulset" }, true);
}

async function clusterNames(io: Io, globals: GlobalOptions): Promise<string[]> {
  const { withHub } = await import("../../hub/hub.ts");
  const { engineOf } = await import("../../hub/engine.ts");
  return withHub(io, { requestTimeout: COMPLETION_TIMEOUT, ...globals }, async (hub) => {
    const { clusters } = await engineOf(hub);
    const { items } = await hub.client.listAll(clusters, hub.request);
    return items.map(({ metadata }) => metadata.name).sort(natural);
  });
}

async function list(
  io: Io,
  globals: GlobalOptions,
  { apiVersion, kind }: { apiVersion: string; kind: string },
  namespaced: boolean,
): Promise<string[]> {
  const { withHub } = await import("../../hub/hub.ts");
  return withHub(io, { requestTimeout: COMPLETION_TIMEOUT, ...globals }, async ({ client, namespace, request }) => {
    const resource = await client.discovery.resource(apiVersion, kind, request);
    const { items } = await client.listAll(resource, { ...(namespaced && { namespace }), ...request });
    return items.map(({ metadata }) => metadata.name).sort(natural);
  });
}

/** Where a leader can be: the application's clusters, then its instances. */
async function destinations(io: Io, globals: GlobalOptions, name: string | undefined): Promise<string[]> {
  if (name === undefined) return [];
  const { getStatefulset, withHub } = await import("../../hub/hub.ts");
  const { statusOf } = await import("../../hub/status.ts");
  return withHub(io, { requestTimeout: COMPLETION_TIMEOUT, ...globals }, async (hub) => {
    const rows = (statusOf(await getStatefulset(hub, name)).clusters ?? []).filter(
      ({ instances }) => instances?.length,
    );
    return [
      ...rows.map((row) => row.name),
      ...rows.flatMap(({ instances = [] }) => instances.map((each) => each.name)),
    ];
  });
}

async function revisionNames(io: Io, globals: GlobalOptions, name: string | undefined): Promise<string[]> {
  if (name === undefined) return [];
  const { getStatefulset, withHub } = await import("../../hub/hub.ts");
  const { statusOf } = await import("../../hub/status.ts");
  return withHub(io, { requestTimeout: COMPLETION_TIMEOUT, ...globals }, async (hub) =>
    (statusOf(await getStatefulset(hub, name)).history ?? []).map(({ revision }) => revision),
  );
}
