import type { Cache, KubeClient, KubeObject } from "../../kube/index.ts";
import type { Clock } from "../../runtime/index.ts";
import { manifestOf, refKey, refOf } from "../dispatch-objects.ts";
import { MEMBER_TIMEOUT_MS, says } from "../members/live-member.ts";
import type { Holding } from "../port.ts";
import { waitUntil } from "../wait.ts";
import { isThere, manifestStatus } from "./reports.ts";
import { MANIFEST_WORKS } from "./resources.ts";
import type { SignsOfLife } from "./signs-of-life.ts";
import { returnedMark, sentMark } from "./works.ts";

export interface HoldingsOptions {
  readonly hub: KubeClient;
  readonly clock: Clock;
  readonly works: Cache<KubeObject>;
  readonly signs: SignsOfLife;
}

/**
 * Whether a member has a ConfigMap, if its API server cannot be asked: the dispatch object contains the expected
 * content, and its mark, which was just written again, returns from the member's own object.
 */
export class Holdings {
  readonly #options: HoldingsOptions;

  constructor(options: HoldingsOptions) {
    this.#options = options;
  }

  async look(cluster: string, configMap: KubeObject): Promise<Holding> {
    const name = `ConfigMap ${configMap.metadata.namespace}/${configMap.metadata.name}`;
    try {
      return await this.#look(cluster, configMap, name);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { kind: "unknown", message: `${name} cannot be read in ${cluster}: ${why}` };
    }
  }

  async #look(cluster: string, configMap: KubeObject, name: string): Promise<Holding> {
    const { hub, clock, works, signs } = this.#options;
    const seen = works
      .byIndex("delivers", refKey(refOf(configMap)))
      .find(({ metadata }) => metadata.namespace === cluster && metadata.deletionTimestamp === undefined);
    const work = seen && (await hub.find(MANIFEST_WORKS, seen.metadata));
    if (!work) return { kind: "missing", message: `${name} is not dispatched to ${cluster}` };
    const { metadata: _name, ...content } = configMap;
    if (!says(manifestOf(work), content)) {
      return { kind: "missing", message: `${name} is dispatched to ${cluster} with another content` };
    }
    const asked = await signs.ask(work);
    const mark = asked && sentMark(asked);
    if (!mark) return { kind: "unknown", message: `${name}: its ManifestWork is being written; Lockstep checks again` };
    const isBack = (now: KubeObject | undefined) => {
      const returned = now && isThere(manifestStatus(now)) === true ? returnedMark(now) : undefined;
      return (
        returned?.lineage === mark.lineage && returned.version === mark.version && returned.sentAtMs >= mark.sentAtMs
      );
    };
    if (await waitUntil(works, work.metadata, isBack, clock, MEMBER_TIMEOUT_MS)) return { kind: "held" };
    return {
      kind: "unknown",
      message: `the agent of ${cluster} has not reported on ${name} within ${MEMBER_TIMEOUT_MS / 1000} s`,
    };
  }
}
