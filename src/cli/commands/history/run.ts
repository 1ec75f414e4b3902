import { yamlDiff } from "../../../interpret/index.ts";
import type { JsonObject } from "../../../runtime/index.ts";
import { applicationName } from "../../applications/kind.ts";
import { applicationHistory } from "../../applications/looking.ts";
import { CommandError } from "../../errors.ts";
import { getStatefulset, withHub } from "../../hub/hub.ts";
import { recordIn, recordLines } from "../../hub/record.ts";
import { statusOf } from "../../hub/status.ts";
import type { GlobalOptions } from "../../options.ts";
import { type KeptRevision, listRevisions } from "../../preview/revisions.ts";
import type { Io } from "../../terminal/io.ts";
import { nearest } from "../../terminal/nearest.ts";
import { age, formatOf, print, printData, styleOf } from "../../terminal/output.ts";
import type { HistoryOptions } from "./command.ts";
import { changesBetween } from "./revision-changes.ts";

/** How many changes of one revision fit on a screen with the others. */
const MAX_CHANGES = 8;

export async function runHistory(io: Io, given: string, options: HistoryOptions & GlobalOptions): Promise<undefined> {
  const application = applicationName(given);
  if (application !== undefined) return applicationHistory(io, application, options);
  const format = formatOf(options.output, ["json", "yaml", "wide", "name"]);
  return withHub(io, options, async (hub) => {
    const object = await getStatefulset(hub, given);
    const { name, namespace = hub.namespace } = object.metadata;
    const status = statusOf(object);
    const revisions = await listRevisions(hub, { namespace, name });
    const chosen =
      options.revision === undefined ? revisions : [find(revisions, options.revision, `${namespace}/${name}`)];
    const before = (revision: KeptRevision) => revisions[revisions.indexOf(revision) + 1];
    const marks = (id: string) => [
      ...(id === status.currentRevision ? ["current"] : []),
      ...(id === status.updateRevision && id !== status.currentRevision ? ["being rolled out"] : []),
      ...(id === status.rejectedRevision ? ["rejected"] : []),
    ];
    const changes = (revision: KeptRevision) => {
      const previous = before(revision);
      return previous === undefined ? undefined : changesBetween(previous.content, revision.content);
    };
    if (format === "name") {
      for (const { id } of chosen) print(io, `controllerrevision.apps/${id}`);
    } else if (format === "json" || format === "yaml") {
      const data = chosen.map((revision) => ({
        revision: revision.id,
        number: revision.number,
        createdAt: revision.createdAt ?? null,
        state: marks(revision.id),
        changes: changes(revision) ?? null,
      }));
      printData(io, format, data);
    } else {
      const style = styleOf(io);
      if (chosen.length === 0) io.stderr.write(`CrossClusterStatefulset ${namespace}/${name} has no revisions yet.\n`);
      for (const revision of chosen) {
        const state = marks(revision.id).join(", ");
        const when = age(revision.createdAt, hub.clock.now());
        print(
          io,
          `${style.bold(String(revision.number))}  ${revision.id}  ${when} ago${state ? `  ${style.good(state)}` : ""}`,
        );
        const promoted = status.history?.find((row) => row.revision === revision.id)?.promoted;
        if (promoted !== undefined) print(io, `   promoted ${promoted}`);
        const lines = changes(revision) ?? ["the oldest one that is kept"];
        const room = format === "wide" || options.revision !== undefined ? lines.length : MAX_CHANGES;
        for (const line of lines.slice(0, room)) print(io, `   ${line}`);
        if (lines.length > room) print(io, `   and ${lines.length - room} more: --revision ${revision.number}`);
        const account = options.revision === undefined ? [] : recordLines(recordIn(status.history, revision.id));
        if (account.length > 0) print(io, ["", ...account].join("\n"));
        const previous = before(revision);
        if (options.revision !== undefined && previous) {
          const diff = yamlDiff(whole(previous), whole(revision));
          print(io, ["", `difference to ${previous.number} (${previous.id}):`, ...diff].join("\n"));
        }
      }
    }
    return undefined;
  });
}

function whole({ content }: KeptRevision): JsonObject {
  return { ...content, dependencies: [...content.dependencies], overrides: [...content.overrides] };
}

function find(revisions: readonly KeptRevision[], wanted: string, object: string): KeptRevision {
  const found = revisions.find(({ id, number }) => id === wanted || String(number) === wanted);
  if (found) return found;
  const like = nearest(
    wanted,
    revisions.map(({ id }) => id),
  );
  const known = revisions.map(({ number }) => number).join(", ");
  throw new CommandError(
    `CrossClusterStatefulset ${object} has no revision '${wanted}'; ${like ? `did you mean '${like}'?` : `there are: ${known || "none"}`}`,
  );
}
