import { describe, expect, it } from "vitest";
import type { Engine, Holding, MemberAccess } from "../../../engine/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import { seededRandom } from "../../../runtime/index.ts";
import { VirtualClock } from "../../../runtime/testing/virtual-clock.ts";
import { PartsSeen } from "./parts-seen.ts";

const APP = "default/web";

function part(name: string): KubeObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" }, data: { part: name } };
}

/** A member with prepared answers; it counts how many requests run at a time. */
class Ground {
  readonly clock = new VirtualClock({ random: seededRandom(1) });
  readonly stop = new AbortController();
  readonly changed: string[] = [];
  readonly asked: string[] = [];
  answers = new Map<string, Holding>();
  answerMs = 10;
  atOnce = 0;
  mostAtOnce = 0;
  readonly seen = new PartsSeen({
    engine: { member: (cluster) => this.#member(cluster) } satisfies Pick<Engine, "member">,
    clock: this.clock,
    random: seededRandom(2),
    signal: this.stop.signal,
    changed: (key) => this.changed.push(key),
  });

  awaited(cluster: string, epoch: number, ...names: string[]): string | undefined {
    return this.seen.awaited(APP, cluster, epoch, names.map(part));
  }

  #member(cluster: string): MemberAccess {
    const holds = async ({ metadata }: KubeObject): Promise<Holding> => {
      this.asked.push(`${cluster}/${metadata.name}`);
      this.mostAtOnce = Math.max(this.mostAtOnce, ++this.atOnce);
      await this.clock.sleep(this.answerMs);
      this.atOnce--;
      return this.answers.get(metadata.name) ?? { kind: "held" };
    };
    return { holds } as unknown as MemberAccess;
  }
}

const missing = (message: string): Holding => ({ kind: "missing", message });

describe("[I21] what a grant refers to", () => {
  it("is awaited until a read has found all of it; then the application is reconciled", async () => {
    const ground = new Ground();
    expect(ground.awaited("member1", 3, "a", "b")).toBe("its 2 ConfigMaps are being looked for");
    expect(ground.seen.lookedFor(APP, "member1", 3)).toBeDefined();
    await ground.clock.advance(100);
    expect(ground.changed).toEqual([APP]);
    expect(ground.seen.lookedFor(APP, "member1", 3)).toBeUndefined();
    expect(ground.awaited("member1", 3, "a", "b")).toBeUndefined();
  });

  it("is looked for again and again, and what was seen once is not asked for again", async () => {
    const ground = new Ground();
    ground.answers.set("b", missing("ConfigMap default/b is not in member1 yet"));
    ground.awaited("member1", 3, "a", "b");
    await ground.clock.advance(2_000);
    expect(ground.seen.lookedFor(APP, "member1", 3)).toBe("ConfigMap default/b is not in member1 yet");
    expect(ground.awaited("member1", 3, "a", "b")).toBe("ConfigMap default/b is not in member1 yet");
    ground.answers.delete("b");
    await ground.clock.advance(10_000);
    expect(ground.asked.filter((each) => each === "member1/a")).toHaveLength(1);
    expect(ground.awaited("member1", 3, "a", "b")).toBeUndefined();
  });

  it("is never seen in a member that cannot be asked; the application is worked on again later", async () => {
    const ground = new Ground();
    ground.answers.set("a", { kind: "unknown", message: "member1 cannot be reached" });
    ground.awaited("member1", 3, "a");
    await ground.clock.advance(60_000);
    expect(ground.changed).toEqual([APP]);
    expect(ground.seen.lookedFor(APP, "member1", 3)).toBeUndefined();
    expect(ground.awaited("member1", 3, "a")).toBe("member1 cannot be reached");
    expect(ground.seen.lookedFor(APP, "member1", 3)).toBe("member1 cannot be reached");
  });

  it("serves one grant once: another epoch, or the same after long, is looked for again", async () => {
    const ground = new Ground();
    ground.awaited("member1", 3, "a");
    await ground.clock.advance(100);
    expect(ground.awaited("member1", 4, "a")).toBeDefined();
    await ground.clock.advance(100);
    expect(ground.awaited("member1", 4, "a")).toBeUndefined();
    expect(ground.awaited("member1", 4, "a")).toBeDefined();
    await ground.clock.advance(100);
    await ground.clock.advance(301_000);
    expect(ground.awaited("member1", 4, "a")).toBeDefined();
  });

  it("of an application that is forgotten is looked for no longer", async () => {
    const ground = new Ground();
    ground.answers.set("a", missing("no"));
    ground.awaited("member1", 3, "a");
    await ground.clock.advance(100);
    ground.seen.forget(APP);
    const asked = ground.asked.length;
    await ground.clock.advance(60_000);
    expect(ground.asked).toHaveLength(asked);
    expect(ground.changed).toEqual([]);
  });

  it("is read by eight at a time, and a slow member holds up no other", async () => {
    const ground = new Ground();
    ground.answerMs = 1_000;
    for (let at = 0; at < 50; at++) ground.awaited(`member${at}`, 1, "a", "b", "c");
    await ground.clock.advance(60_000);
    expect(ground.mostAtOnce).toBe(8);
    expect(ground.changed).toHaveLength(50);
  });
});
