import { readWorkload, type Workload } from "../../api/index.ts";
import { CommandError } from "../errors.ts";

/** The values of an option that names kinds of workloads. */
export function workloadsOf(texts: readonly string[] = [], option = "--workload"): Workload[] {
  return texts.map((text) => {
    const workload = readWorkload(text);
    if (workload) return workload;
    throw new CommandError(
      `${option} '${text}': give PLURAL.GROUP, such as xlineclusters.apps.my.io; if the kind cannot be derived from the plural, PLURAL.GROUP=Kind`,
    );
  });
}
