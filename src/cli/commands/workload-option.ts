import { readWorkload, type Workload } from "../../api/index.ts";
import { CommandError } from "../errors.ts";

/** The values of `--workload`. */
export function workloadsOf(texts: readonly string[] = []): Workload[] {
  return texts.map((text) => {
    const workload = readWorkload(text);
    if (workload) return workload;
    throw new CommandError(
      `--workload '${text}': give PLURAL.GROUP, such as xlineclusters.apps.my.io; if the kind cannot be derived from the plural, PLURAL.GROUP=Kind`,
    );
  });
}
