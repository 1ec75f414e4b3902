import { describe, expect, it } from "vitest";
import { previousRevision } from "../../rollout/index.ts";
import { Bench } from "../check/testing/bench.ts";
import { testIntent } from "../check/testing/intent.ts";

/** A bench on which revisions are rolled out and undone as a person would. */
class Story {
  readonly bench = new Bench(testIntent({ a: 1, b: 1, c: 1 }, { podManagementPolicy: "Parallel" }));
  #undos = 0;

  run(): void {
    this.bench.settle();
    for (let round = 0; round < 40; round++) {
      const { steps } = this.bench.plan();
      this.bench.settle();
      if (steps.length === 0) return;
    }
    throw new Error("it does not settle");
  }

  template(id: string): void {
    this.bench.intent.revision = { kind: "ready", id };
  }

  undo(to: string | undefined): void {
    const { intent } = this.bench;
    if (to === undefined) throw new Error("there is nothing to undo to");
    this.#undos++;
    intent.requests = { ...intent.requests, undo: { id: `${this.#undos}`, to } };
  }

  get previous(): string | undefined {
    const { ledger, last } = this.bench;
    return previousRevision(ledger, last?.figures.targetRevision ?? null, false);
  }
}

function storyOf(...templates: string[]): Story {
  const story = new Story();
  for (const id of templates) {
    story.template(id);
    story.run();
  }
  return story;
}

describe("[F12] undo without a name goes to the last revision that completed", () => {
  it("while an update is under way that is the current one, at rest the one before", () => {
    const story = storyOf("A", "B");
    expect(story.previous).toBe("A");
    story.template("C");
    story.bench.plan();
    expect(story.previous).toBe("B");
  });

  it("one that was superseded before it completed is passed over", () => {
    const story = storyOf("A");
    story.template("B");
    story.bench.plan();
    story.template("C");
    story.run();
    expect(story.bench.ledger.currentRevision).toBe("C");
    expect(story.previous).toBe("A");
  });

  it("each undo that has completed goes further back, and one that is on its way has no further", () => {
    const story = storyOf("A", "B", "C");
    story.undo(story.previous);
    story.bench.plan();
    expect(story.previous).toBeUndefined();
    story.run();
    expect(story.bench.ledger.currentRevision).toBe("B");
    story.undo(story.previous);
    story.run();
    expect(story.bench.ledger.currentRevision).toBe("A");
    expect(story.previous).toBeUndefined();
  });

  it("an undo that was withdrawn can be requested again", () => {
    const story = storyOf("A", "B");
    story.undo("A");
    story.run();
    story.undo("B");
    story.run();
    expect(story.bench.ledger.override).toBeNull();
    expect(story.previous).toBe("A");
  });

  it("a template that goes back by itself is a revision like any other", () => {
    const story = storyOf("A", "B", "A");
    expect(story.previous).toBe("B");
  });

  it("a template that waits to become a revision is undone to the current one", () => {
    const { bench } = storyOf("A", "B");
    expect(previousRevision(bench.ledger, "B", true)).toBe("B");
  });
});

describe("revisions that reached a cluster", () => {
  it("are remembered, the newest first, also when they did not complete", () => {
    const story = storyOf("A");
    story.template("B");
    story.bench.plan();
    story.template("C");
    story.run();
    expect(story.bench.ledger.history).toEqual({ reached: ["C", "B", "A"], completed: ["C", "A"] });
  });
});
