import { type ConformanceOptions, Fixture, mountedIn, type Sight, type TestGrant, volumesOf } from "./fixture.ts";
import type { Finding, Rule } from "./rules.ts";

/** Thrown when the operator does so little that the other rules cannot be tried. */
export class ConformanceEnded extends Error {
  override readonly name = "ConformanceEnded";
}

const [OLD, NEW, LATEST] = ["conformance-1", "conformance-2", "conformance-3"];

/**
 * Plays Lockstep for one object, and looks at what the operator does: its report, and the pods that have the instances'
 * names. Every check names the rule that it is for. `told` is called for each one at once.
 */
export async function checkOperator(
  options: ConformanceOptions,
  told: (finding: Finding) => void = () => {},
): Promise<Finding[]> {
  const suite = new Suite(new Fixture(options), told);
  try {
    await suite.run();
  } catch (error) {
    if (!(error instanceof ConformanceEnded)) throw error;
  } finally {
    await suite.fixture.remove();
  }
  return suite.findings;
}

class Suite {
  readonly fixture: Fixture;
  readonly findings: Finding[] = [];
  readonly #told: (finding: Finding) => void;
  /** What all instances run after the updates. */
  #latest = NEW;

  constructor(fixture: Fixture, told: (finding: Finding) => void) {
    this.fixture = fixture;
    this.#told = told;
  }

  async run(): Promise<void> {
    await this.#standsBack();
    await this.#grows();
    await this.#ignoresTopology();
    await this.#waitsWithUpdate();
    await this.#updatesAbovePartition();
    await this.#updatesRest();
    await this.#movesLeaderFirst();
    await this.#recreates();
    await this.#refusesMalformed();
    await this.#shrinks();
  }

  async #standsBack(): Promise<void> {
    const { sights } = await this.#quiet({ instances: ["joining"], revision: OLD, processor: false, forming: true });
    const last = sights.at(-1);
    this.#say(
      "M7",
      "reports the epoch of a grant without the turn",
      last?.report?.epoch === 1 ? undefined : `its report is ${describe(last)}`,
    );
    this.#say(
      "M2",
      "creates no instance without the turn",
      last?.pods.size === 0 ? undefined : `it created ${[...(last?.pods.keys() ?? [])].join(", ")}`,
    );
    const done = sights.find(({ report }) => report?.phase === "Done");
    this.#say("M8", "does not report Done while an instance is missing", done && `it reported ${describe(done)}`);
  }

  async #grows(): Promise<void> {
    await this.#step("M3", "creates the first instance with the turn", {
      instances: ["joining"],
      revision: OLD,
      processor: true,
      forming: true,
    });
    const first = await this.fixture.look();
    await this.#step("M3", "adds a second instance", {
      instances: ["member", "joining"],
      revision: OLD,
      processor: true,
    });
    await this.#step("M3", "adds a third instance", {
      instances: ["member", "member", "joining"],
      revision: OLD,
      processor: true,
    });
    const now = await this.fixture.look();
    this.#say("M3", "leaves running instances alone while others join", changed(first, now));
    // What a container writes elsewhere is gone with its pod, and the member returns without it.
    const unmounted = [...now.pods].flatMap(([name, { object }]) =>
      volumesOf(object).flatMap(({ volume, claim }) =>
        mountedIn(object).has(volume) ? [] : [`no container of ${name} mounts the claim ${claim}`],
      ),
    );
    this.#say("M2", "mounts the volume of every instance", unmounted[0]);
  }

  async #ignoresTopology(): Promise<void> {
    const before = await this.fixture.look();
    const { sights } = await this.#quiet({ instances: MEMBERS, revision: OLD, processor: false, elsewhere: 2 });
    const last = sights.at(-1) ?? before;
    this.#say("M4", "restarts no instance for a new topology", changed(before, last));
    this.#say(
      "M7",
      "reports the epoch of a grant that asks for nothing",
      last.report?.epoch === this.fixture.epoch ? undefined : `its report is ${describe(last)}`,
    );
  }

  async #waitsWithUpdate(): Promise<void> {
    const before = await this.fixture.look();
    const { sights } = await this.#quiet({ instances: MEMBERS, revision: NEW, processor: false });
    this.#say(
      "M2",
      "restarts no instance for a new revision without the turn",
      changed(before, sights.at(-1) ?? before),
    );
    const own = sights.filter(({ report }) => report?.epoch === this.fixture.epoch);
    const done = own.find(({ report }) => report?.phase === "Done");
    this.#say("M8", "does not report Done for a revision that does not run", done && `it reported ${describe(done)}`);
  }

  async #updatesAbovePartition(): Promise<void> {
    const before = await this.fixture.look();
    const sights = await this.#step("M3", "updates the instance above the partition", {
      instances: MEMBERS,
      revision: NEW,
      processor: true,
      partition: 2,
    });
    this.#oneAtATime("updates above the partition with at most one instance down", sights);
    const now = sights.at(-1) ?? before;
    const below = [0, 1]
      .map((each) => this.fixture.instance(each))
      .filter((name) => now.pods.get(name)?.uid !== before.pods.get(name)?.uid);
    this.#say(
      "M5",
      "leaves the instances below the partition",
      below.length > 0 ? `it restarted ${below.join(", ")}` : undefined,
    );
    const top = this.fixture.instance(2);
    const isSame = now.pods.get(top)?.uid === before.pods.get(top)?.uid;
    this.#say(
      "M3",
      "restarts the instance above the partition",
      isSame ? `${top} still runs as before, and its report is ${describe(now)}` : undefined,
    );
  }

  async #updatesRest(): Promise<void> {
    const sights = await this.#step("M3", "updates the rest", { instances: MEMBERS, revision: NEW, processor: true });
    this.#oneAtATime("has at most one instance down at a time", sights);
  }

  #oneAtATime(check: string, sights: readonly Sight[]): void {
    const worst = Math.max(...sights.map((sight) => MEMBERS.length - readyCount(sight)));
    this.#say("M3", check, worst > 1 ? `${worst} of ${MEMBERS.length} were down at once` : undefined);
  }

  /**
   * The instance that should lead does not exist, so the leader cannot move: it must not be restarted. An operator that
   * reports no leader in this cluster has none to move.
   */
  async #movesLeaderFirst(): Promise<void> {
    const before = await this.fixture.look();
    if (!before.report?.leader) return;
    const { sights } = await this.#quiet({ instances: MEMBERS, revision: LATEST, processor: true, transfer: true });
    this.#latest = LATEST;
    const restarted = sights.flatMap((now, at) => {
      const earlier = sights[at - 1] ?? before;
      const leader = earlier.report?.leader ?? "";
      const [pod, was] = [now.pods.get(leader)?.object.metadata, earlier.pods.get(leader)?.object.metadata];
      if (leader === "" || !was || was.deletionTimestamp !== undefined) return [];
      return pod?.uid !== was.uid || pod?.deletionTimestamp !== undefined ? [leader] : [];
    });
    this.#say(
      "M6",
      "does not restart the leading instance before the leader has moved",
      restarted.length > 0 ? `it restarted ${restarted[0]}, which led` : undefined,
    );
    await this.#step("M3", "updates after the request to move the leader is over", {
      instances: MEMBERS,
      revision: LATEST,
      processor: true,
    });
  }

  async #recreates(): Promise<void> {
    await this.#step("M7", "reports after the turn is taken away", {
      instances: MEMBERS,
      revision: this.#latest,
      processor: false,
    });
    const lost = this.fixture.instance(1);
    const before = (await this.fixture.look()).pods.get(lost)?.uid;
    const claims = await this.fixture.claims(lost);
    await this.fixture.deletePod(lost);
    const { reached } = await this.fixture.watch(this.fixture.options.stepMs, ({ pods }) => {
      const pod = pods.get(lost);
      return pod !== undefined && pod.uid !== before && pod.isReady;
    });
    this.#say("M2", "recreates a missing member without the turn", reached ? undefined : `${lost} did not come back`);
    const now = await this.fixture.claims(lost);
    const isOther = reached && listed(now) !== listed(claims);
    this.#say(
      "M2",
      "recreates a missing member on its own volume",
      isOther ? `${lost} had ${listed(claims)}, and came back with ${listed(now)}` : undefined,
    );
  }

  async #refusesMalformed(): Promise<void> {
    const before = await this.fixture.look();
    const { sights } = await this.#quiet({
      instances: MEMBERS,
      revision: "conformance-4",
      processor: true,
      topologyText: "{",
    });
    this.#say("M9", "changes nothing for a grant that cannot be read", changed(before, sights.at(-1) ?? before));
    const done = sights.find(({ report }) => report?.epoch === this.fixture.epoch && report.phase === "Done");
    this.#say("M9", "does not report Done for a grant that cannot be read", done && `it reported ${describe(done)}`);
  }

  async #shrinks(): Promise<void> {
    const sights = await this.#step("M3", "removes a leaving instance", {
      instances: ["member", "member", "leaving"],
      revision: this.#latest,
      processor: true,
    });
    const isLeft = sights.at(-1)?.pods.has(this.fixture.instance(2)) ?? true;
    this.#say(
      "M8",
      "reports Done only when a leaving instance is gone",
      isLeft ? `${this.fixture.instance(2)} still exists` : undefined,
    );
  }

  /** A grant that the operator must complete. Nothing else can be tried if it does not. */
  async #step(rule: Rule, check: string, grant: TestGrant): Promise<Sight[]> {
    const epoch = await this.fixture.grant(grant);
    const { stepMs } = this.fixture.options;
    const early: Sight[] = [];
    const { reached, sights } = await this.fixture.watch(stepMs, (sight) => {
      const isDone = sight.report?.epoch === epoch && sight.report.phase === "Done";
      if (isDone && !isComplete(sight, grant)) early.push(sight);
      return isDone;
    });
    this.#say(
      rule,
      check,
      reached ? undefined : `after ${Math.round(stepMs / 1000)} s its report is ${describe(sights.at(-1))}`,
    );
    if (!reached) throw new ConformanceEnded();
    const { report } = sights.at(-1) ?? {};
    this.#say(
      "M1",
      `${check}: reports the revision of its epoch`,
      report?.revision === grant.revision ? undefined : `it reported ${describe(sights.at(-1))}`,
    );
    const [first] = early;
    this.#say(
      "M8",
      `${check}: reports Done when it is complete`,
      first && `it reported ${describe(first)} while ${readyCount(first)} of ${expected(grant)} were ready`,
    );
    return sights;
  }

  async #quiet(grant: TestGrant): Promise<{ sights: Sight[] }> {
    await this.fixture.grant(grant);
    return this.fixture.watch(this.fixture.options.quietMs, () => false);
  }

  #say(rule: Rule, check: string, broken: string | undefined): void {
    const finding = { rule, check, ...(broken !== undefined && { broken }) };
    this.findings.push(finding);
    this.#told(finding);
  }
}

const MEMBERS: TestGrant["instances"] = ["member", "member", "member"];

function expected({ instances }: TestGrant): number {
  return instances.filter((state) => state !== "leaving").length;
}

function readyCount({ pods }: Sight): number {
  return [...pods.values()].filter(({ isReady }) => isReady).length;
}

function isComplete(sight: Sight, grant: TestGrant): boolean {
  return readyCount(sight) >= expected(grant);
}

function listed(claims: ReadonlyMap<string, string>): string {
  const all = [...claims].map(([name, uid]) => `the claim ${name} (${uid || "missing"})`);
  return all.length === 0 ? "no claim" : all.sort().join(", ");
}

/** The instances that ran before and run no more, or as another process; undefined: none. */
function changed(before: Sight, now: Sight): string | undefined {
  const names = [...before.pods].filter(([name, { uid }]) => now.pods.get(name)?.uid !== uid).map(([name]) => name);
  return names.length > 0 ? `it restarted or removed ${names.join(", ")}` : undefined;
}

function describe(sight: Sight | undefined): string {
  return sight?.report ? JSON.stringify(sight.report) : "missing or not valid";
}
