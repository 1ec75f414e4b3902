import { sameJson } from "../../../runtime/index.ts";
import { preflight } from "../../limits/preflight.ts";
import type { ClusterName, FleetFact, Grant, ScheduledCluster } from "../../types/index.ts";
import { Bench } from "./bench.ts";
import { type EditableIntent, testIntent } from "./intent.ts";
import { observeByHand } from "./transcript-observe.ts";
import {
  figureLines,
  grantLine,
  planLines,
  problemLines,
  topologyLines,
  viewLines,
  whyLines,
} from "./transcript-print.ts";
import { settings } from "./transcript-settings.ts";

/** More rounds than any transcript needs to settle. */
const ROUNDS_MAX = 200;

/**
 * Plays a transcript: blocks of commands, a line of dashes, what came out. A block without dashes is played in silence.
 * What follows '#' is a comment; a rule's number in it, in brackets, says that the rule is shown there.
 *
 *   What the user and the fleet do
 *   set KEY=VALUE ...             settings of the spec (transcript-settings.ts); `template=B` edits the template
 *   cluster NAME replicas=N [kept | kept=stuck]   schedules N instances there (0: no longer); kept: the engine does not
 *                                 select it, and nothing proves that it was removed (stuck: for long)
 *   fleet NAME STATE              Ready [cordoned=WHY] [maintenance] [room=N], NotReady, Unknown or Gone
 *   request undo=ID:REV | approve=REV:WAVE (from 1) | promote=REV:WAVE or REV:window
 *           transfer=ID:TO | lost=NAME | drain=NAME | resume=STAMP
 *   wait SECONDS                  time passes; less than 0: the clock is set back
 *
 *   What happens in the members
 *   unreachable NAME / reachable NAME
 *   blind NAME                    Lockstep has no stream to look at it with; `unreachable` and `reachable` end that
 *   deliver [NAME ...]            the last grants arrive; the operators do not act on them yet
 *   settle [NAME ...]             they arrive and are carried out (without names: everywhere)
 *   observe NAME KEY=VALUE ...    what its snapshots say, by hand (transcript-observe.ts), until the next settle
 *   uncounted                     from now on no snapshot says how many instances there are, or are ready
 *   gone NAME                     a user deletes the live object
 *   volumes NAME [ORDINAL ...]    of these ordinals, and no others, volumes exist there
 *   members NAME ...              the application's own member list, as of now
 *   running NAME replicas=N [epoch=N]   the cluster runs the application without a grant; with an epoch: with a grant
 *                                 of an earlier object of the same name
 *   leader [NAME[:INSTANCE] ...]  those clusters, and no others, claim the leader
 *
 *   What the controller does
 *   plan                          one plan; prints steps, actions, reasons, and when to look again
 *   run                           plan and settle until nothing starts; prints the steps of every round
 *   again                         plans once more on the result, with nothing changed
 *   crash                         it dies before anything of the last plan is written
 *   rebuild                       the ledger is lost, and rebuilt from the grants
 *
 *   What there is to see
 *   grants                        every cluster's grant as it stands
 *   topology NAME                 the topology that the cluster has received
 *   views                         the versions of the topology in the ledger, and which cluster has which
 *   why NAME | why *              the last plan's reasons there, with evidence and remedy
 *   figures [NAME ...]            the arithmetic behind the last plan
 *   moved                         what became of the last request to move the leader
 *   preflight                     what the settings make impossible, or do otherwise than they seem to say
 */
export class Transcript {
  readonly bench: Bench;
  readonly #intent: EditableIntent;
  readonly #sizes = new Map<ClusterName, Omit<ScheduledCluster, "cluster">>();
  #out: string[] = [];

  constructor() {
    this.#intent = testIntent({});
    this.bench = new Bench(this.#intent);
  }

  play(block: string): string {
    this.#out = [];
    for (const line of block.split("\n")) {
      const text = line.replace(/#.*$/, "").trim();
      if (text !== "") this.#command(text.split(/\s+/));
    }
    return this.#out.map((line) => `${line}\n`).join("");
  }

  #command([command = "", ...args]: string[]): void {
    const { bench } = this;
    const name = args[0] ?? "";
    const rest = pairs(args.slice(1));
    const commands: Record<string, () => void> = {
      set: () => {
        for (const [key, value] of pairs(args)) this.#set(key, value);
      },
      cluster: () => this.#schedule(name, Number(rest.get("replicas") ?? 0), rest.get("kept")),
      fleet: () => {
        this.#intent.fleet[name] = this.#fleet(args[1] ?? "", pairs(args.slice(2)));
      },
      request: () => {
        for (const [key, value] of pairs(args)) this.#request(key, value);
      },
      wait: () => bench.wait(Number(name)),
      unreachable: () => {
        bench.unreachable.add(name);
        bench.blind.delete(name);
      },
      reachable: () => {
        bench.unreachable.delete(name);
        bench.blind.delete(name);
      },
      blind: () => {
        bench.unreachable.add(name);
        bench.blind.add(name);
      },
      deliver: () => bench.deliver(...args),
      settle: () => {
        for (const member of bench.members.values()) member.overlay = {};
        bench.settle(...args);
      },
      observe: () =>
        observeByHand(bench.member(name), rest, {
          app: this.#intent.app.name,
          grant: () => this.#grant(name),
        }),
      uncounted: () => {
        bench.uncounted = true;
      },
      gone: () => bench.member(name).remove(),
      volumes: () => {
        bench.member(name).volumes = args.slice(1).map(Number);
      },
      members: () => {
        bench.membership = { members: args, atMs: bench.nowMs };
      },
      running: () => {
        const epoch = rest.get("epoch");
        bench
          .member(name)
          .runUnmanaged(Number(rest.get("replicas") ?? 0), epoch === undefined ? undefined : Number(epoch));
      },
      leader: () => this.#leader(args),
      plan: () => this.#print(planLines(bench.plan(), bench.nowMs, true)),
      run: () => this.#run(),
      again: () => this.#again(),
      crash: () => bench.crash(),
      rebuild: () => bench.rebuild(),
      grants: () => this.#print((bench.last?.grants ?? []).map(grantLine)),
      topology: () => this.#print(topologyLines(bench.ledger, this.#grant(name))),
      views: () => this.#print(viewLines(bench.ledger)),
      why: () => this.#print(whyLines(bench.last, name)),
      figures: () => this.#print(figureLines(bench.last?.figures, args)),
      moved: () => {
        const { leaderRequest } = bench.ledger;
        this.#print([leaderRequest ? `${leaderRequest.state}: ${leaderRequest.message}` : "no request"]);
      },
      preflight: () => this.#print(problemLines(preflight(this.#intent, bench.ledger))),
    };
    const run = commands[command];
    if (!run) throw new Error(`unknown command '${command}'`);
    run();
  }

  #print(lines: readonly string[]): void {
    this.#out.push(...lines);
  }

  #schedule(cluster: ClusterName, replicas: number, kept: string | undefined): void {
    const why = { message: "Placement zones does not select it, and decided before it came back" };
    this.#sizes.set(cluster, { replicas, ...(kept !== undefined && { kept: { ...why, isStuck: kept === "stuck" } }) });
    this.#intent.fleet[cluster] ??= { state: "Ready" };
    this.#intent.schedule = {
      kind: "known",
      source: "explicit",
      clusters: [...this.#sizes].map(([each, scheduled]) => ({ cluster: each, ...scheduled })),
    };
  }

  #fleet(state: string, more: ReadonlyMap<string, string>): FleetFact {
    const sinceMs = this.bench.nowMs;
    if (state === "Ready") {
      if (more.has("maintenance"))
        return { state, cordoned: "lockstep.karmada.io/drain:NoSchedule", maintenance: true };
      const room = more.get("room");
      if (room !== undefined) return { state, room: { instances: Number(room), evidence: "500m of cpu are free" } };
      return more.has("cordoned") ? { state, cordoned: more.get("cordoned") ?? "" } : { state };
    }
    if (state === "NotReady" || state === "Unknown" || state === "Gone") return { state, sinceMs };
    throw new Error(`unknown fleet state '${state}'`);
  }

  #grant(cluster: ClusterName): Grant {
    const found = this.bench.ledger.clusters[cluster]?.grant;
    if (!found) throw new Error(`${cluster} has no grant`);
    return found;
  }

  #set(key: string, value: string): void {
    const setting = settings[key];
    if (!setting) throw new Error(`unknown setting '${key}'`);
    setting(this.#intent, value);
  }

  #leader(claims: readonly string[]): void {
    const claimed = new Map(claims.map((claim) => claim.split(":")).map(([cluster = "", name]) => [cluster, name]));
    for (const cluster of Object.keys(this.#intent.fleet)) {
      const instance = claimed.get(cluster);
      const here = instance === undefined ? ({ kind: "here" } as const) : ({ kind: "here", instance } as const);
      this.bench.member(cluster).leader = claimed.has(cluster) ? here : { kind: "elsewhere" };
    }
    this.#intent.workload = { ...this.#intent.workload, reportsLeader: true };
  }

  #request(key: string, value: string): void {
    const { requests } = this.#intent;
    const [first = "", second = ""] = value.split(":");
    switch (key) {
      case "undo":
        this.#intent.requests = { ...requests, undo: { id: first, to: second } };
        return;
      case "approve":
        this.#intent.requests = {
          ...requests,
          approvals: [...requests.approvals, { revision: first, wave: Number(second) - 1 }],
        };
        return;
      case "promote": {
        const past = second === "window" ? { window: true } : { wave: Number(second) - 1, window: false };
        this.#intent.requests = { ...requests, promotion: { revision: first, ...past } };
        return;
      }
      case "transfer":
        this.#intent.requests = { ...requests, transferLeader: { id: first, to: second } };
        return;
      case "lost":
        this.#intent.requests = { ...requests, confirmedLost: [...requests.confirmedLost, first] };
        return;
      case "drain":
        this.#intent.requests = { ...requests, confirmedDrain: [...requests.confirmedDrain, first] };
        return;
      case "resume":
        this.#intent.requests = { ...requests, resume: first };
        return;
      default:
        throw new Error(`unknown request '${key}'`);
    }
  }

  #run(): void {
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const result = this.bench.plan();
      const moves = result.steps.length > 0 || result.actions.some(({ kind }) => kind === "remove");
      this.#print(planLines(result, this.bench.nowMs, !moves));
      if (!moves) return;
      this.bench.settle();
    }
    throw new Error(`did not settle within ${ROUNDS_MAX} rounds`);
  }

  #again(): void {
    const before = this.bench.last;
    const after = this.bench.plan();
    const same = ["ledger", "grants", "waiting", "actions", "requeueAt"] as const;
    const changed = same.filter((part) => !sameJson(before?.[part], after[part]));
    this.#print([
      changed.length === 0 && after.steps.length === 0
        ? "nothing starts; ledger, grants, actions and reasons are the same"
        : `changed: ${changed.join(", ")}`,
    ]);
  }
}

function pairs(args: readonly string[]): Map<string, string> {
  return new Map(
    args.map((arg) => {
      const at = arg.indexOf("=");
      return at < 0 ? [arg, ""] : [arg.slice(0, at), arg.slice(at + 1)];
    }),
  );
}

/** Replays a whole file: each block is commands, "----", the output. Returns the file as it should be. */
export function replay(text: string, transcript = new Transcript()): string {
  const blocks = text.split(/\n\n+/).filter((block) => block.trim() !== "");
  return `${blocks
    .map((block) => {
      const [commands = ""] = block.split(/^----\n?/m);
      if (!/^----$/m.test(block)) {
        transcript.play(commands);
        return commands.trimEnd();
      }
      return `${commands}----\n${transcript.play(commands).trimEnd()}`;
    })
    .join("\n\n")}\n`;
}
