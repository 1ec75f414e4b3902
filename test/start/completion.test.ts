/** The completion scripts in real shells, against a real fleet. */
import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Fleet } from "./fleet.ts";

/** How each shell is asked what a command line may become; each prints the candidates, one to a line. */
const ASK: Readonly<Record<string, (line: string) => string[]>> = {
  bash: (line) => [
    "--noprofile",
    "--norc",
    "-c",
    `source <(lockstep completion bash)
    complete -p lockstep >/dev/null
    line=${quoted(line)}
    COMP_WORDS=($line); [[ "$line" == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
    _lockstep_complete
    printf '%s\\n' "\${COMPREPLY[@]}"`,
  ],
  // zsh completes in its line editor only: an inner shell is typed into through a pseudo terminal.
  zsh: (line) => [
    "-f",
    "-c",
    `zmodload zsh/zpty
    zpty shell 'TERM=dumb PS1="" zsh -f -i'
    typed() { zpty -w shell "$1" }
    typed 'autoload -Uz compinit && compinit -u -d $PWD/.zcompdump'
    typed 'source <(lockstep completion zsh)'
    typed 'zstyle ":completion:*" list-prompt ""; zstyle ":completion:*" menu no; LISTMAX=1000; setopt no_beep'
    typed 'show() { compadd -O found -a candidates 2>/dev/null; for each in $candidates; do print -r -- "FOUND $each" >> $PWD/zsh.found; done; builtin compadd "$@" }'
    typed 'functions[_lockstep]="\${functions[_lockstep]/compadd/show}"'
    typed 'rm -f $PWD/zsh.found; echo READY-$((1 + 1))'
    zpty -r shell line '*READY-2*'
    zpty -w -n shell ${quoted(line)}$'\\t'
    for i in {1..100}; do [[ -s zsh.found ]] && break; sleep 0.1; done
    sleep 0.2
    sed 's/^FOUND //' zsh.found | sort -u
    zpty -d shell`,
  ],
  fish: (line) => ["--no-config", "-c", `lockstep completion fish | source; complete -C ${quoted(line)}`],
};

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

const has = (shell: string) => spawnSync(shell, ["-c", "true"]).status === 0;
const HERE = Object.keys(ASK).filter(has);
const MISSING = Object.keys(ASK).filter((shell) => !HERE.includes(shell));

describe("completion", () => {
  const fleet = new Fleet();
  beforeAll(() => fleet.start());
  afterAll(() => fleet.close());

  const candidates = async (shell: string, line: string) => {
    const { out, err } = await fleet.execute(shell, ASK[shell]?.(line) ?? []);
    const found = out
      .split("\n")
      .map((each) => each.trim())
      .filter((each) => each !== "");
    return { found: found.sort(), err };
  };

  it("is tried in bash on every machine, and in what other shells there are", () => {
    if (MISSING.length > 0) console.warn(`not on this machine, so its completion was NOT tried: ${MISSING.join(", ")}`);
    expect(HERE).toContain("bash");
  });

  it.each(HERE)("%s completes commands, flags, objects, clusters and their values", async (shell) => {
    const offered = async (line: string) => (await candidates(shell, line)).found;
    expect(await offered("lockstep sta")).toEqual(["status"]);
    expect(await offered("lockstep re")).toEqual(["render", "restart", "resume", "retry"]);
    expect(await offered("lockstep status w")).toEqual(["web"]);
    expect(await offered("lockstep status web --out")).toEqual(["--output"]);
    expect(await offered("lockstep confirm-lost ")).toEqual(["member1", "member2", "member3"]);
    expect(await offered("lockstep --context member2 status -o j")).toEqual(["json"]);
    expect(await offered("lockstep --context mem")).toEqual(["member1", "member2", "member3"]);
    expect(await offered("lockstep demo lo")).toEqual(["lose-cluster"]);
    expect(await offered("lockstep completion z")).toEqual(["zsh"]);
  });

  it("kubectl's own completion reaches the plugin's", async () => {
    const { out } = await fleet.execute("kubectl_complete-lockstep", ["status", "w"]);
    expect(out).toBe("web\n:4\n");
  });

  it("prints nothing if no hub answers, so that the user's line stays intact", async () => {
    const { out, err, code } = await fleet.run("__complete", "--", "--kubeconfig", "/nowhere", "status", "");
    expect({ out, err, code }).toEqual({ out: "", err: "", code: 0 });
  });
});
