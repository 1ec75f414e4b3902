/** The rollout in progress or the last one; or, if a user has chosen it in the history, one of the past. */
import { effect, signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { ApplicationName, RecordView, RevisionView } from "../../src/web/types.ts";
import { record } from "../api.ts";
import { dateTime, short } from "../format.ts";
import { say, session } from "../state.ts";
import { pastStory, type Story } from "../story.ts";
import { Card } from "./common.tsx";
import { Replay } from "./replay.tsx";

interface Chosen extends ApplicationName {
  readonly record: RecordView;
}

const chosen = signal<Chosen | undefined>(undefined);
const CARD_ID = "timeline";

// What one person read is not shown to the next one.
effect(() => {
  if (session.value.kind !== "in") chosen.value = undefined;
});

export async function showRollout(of: ApplicationName, { revision }: RevisionView): Promise<void> {
  const { type, namespace, name } = of;
  try {
    chosen.value = { type, namespace, name, record: await record({ type, namespace, name, revision }) };
    document.getElementById(CARD_ID)?.scrollIntoView({ block: "center" });
  } catch (error) {
    say(error instanceof Error ? error.message : String(error), true);
  }
}

interface RolloutCardProps {
  readonly story: Story;
  readonly title: string;
  readonly history: readonly RevisionView[];
  readonly aside: ComponentChildren;
}

export function RolloutCard({ story, title, history, aside }: RolloutCardProps) {
  const past = chosen.value;
  const isThis = past?.type === story.type && past.namespace === story.namespace && past.name === story.name;
  if (!isThis) {
    return (
      <Card title={title} id={CARD_ID} aside={aside}>
        <Replay story={story} />
      </Card>
    );
  }
  const { revision, timeline } = past.record;
  const number = history.find((one) => one.revision === revision)?.number;
  return (
    <Card
      title={`The rollout of revision ${number ?? short(revision)}`}
      id={CARD_ID}
      aside={
        <button
          type="button"
          class="quiet"
          onClick={() => {
            chosen.value = undefined;
          }}
        >
          Back to the present
        </button>
      }
    >
      <p class="dim">
        <code title={revision}>{short(revision)}</code>, {dateTime(new Date(timeline.fromMs).toISOString())}
      </p>
      <Replay key={revision} story={pastStory(story, past.record, history)} />
    </Card>
  );
}
