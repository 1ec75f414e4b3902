/** Until there is something to show of one application. */
import type { ApplicationName } from "../../src/web/types.ts";
import { trouble } from "../state.ts";
import { Command, Empty } from "./common.tsx";

export function NotYet({ at: { namespace, name } }: { at: ApplicationName }) {
  const problem = trouble.value;
  if (!problem) {
    return (
      <p class="loading">
        Reading {namespace}/{name} ...
      </p>
    );
  }
  return (
    <Empty title={problem.gone ? "There is nothing to show" : "The hub does not answer"} isPage>
      <p>{problem.message}</p>
      <p>{problem.gone ? "See what there is:" : "This page tries again by itself. Check on the command line:"}</p>
      <Command text={problem.gone ? "lockstep status -A" : "lockstep doctor"} />
      <p>
        <a href="#/">All applications</a>
      </p>
    </Empty>
  );
}
