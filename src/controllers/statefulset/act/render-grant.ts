import type { CrossClusterStatefulsetSpec } from "../../../api/index.ts";
import type { EngineCluster } from "../../../engine/index.ts";
import type { Interpreter } from "../../../interpret/index.ts";
import { type Grant, initialCluster, type Ledger, type TopologyView } from "../../../plan/index.ts";
import {
  type NetworkSettings,
  RenderInputError,
  type RenderResult,
  type RevisionContent,
  renderMember,
} from "../../../render/index.ts";
import { isUnanswered, replicaSource, type Unanswered } from "../../common/interpreted.ts";

export interface GrantToRender {
  readonly spec: Pick<CrossClusterStatefulsetSpec, "retentionPolicy" | "memberConcurrency">;
  readonly network: NetworkSettings;
  readonly ledger: Ledger;
  readonly grant: Grant;
  /** Undefined: it has left the fleet. */
  readonly cluster: EngineCluster | undefined;
  /** Of the granted revision. */
  readonly content: RevisionContent;
  /** Of the revision that the cluster is on the way from, if it is another. */
  readonly base: RevisionContent | undefined;
  /** The ledger's view of the grant's topology version. */
  readonly view: TopologyView;
  readonly interpreter: Pick<Interpreter, "interpret">;
  /** The most that the topology may have as an annotation; absent: as the contract says. */
  readonly topologyInlineBytes?: number;
}

/** What a cluster gets for a grant: for the controller, which dispatches it, and for previews. Pure. */
export function renderGrant(given: GrantToRender): RenderResult | Unanswered {
  const { spec, network, ledger, grant, content, base, view, interpreter, topologyInlineBytes } = given;
  if (!ledger.identity) throw new RenderInputError("the ledger has grants but no identity");
  const replicas = replicaSource(interpreter, content.template, grant.replicas);
  if (isUnanswered(replicas)) return replicas;
  return renderMember({
    app: ledger.identity.app,
    cluster: given.cluster ?? { name: grant.cluster, labels: {}, zones: [] },
    grant,
    revision: { id: grant.revision, content },
    topology: view,
    initialCluster: initialCluster(ledger, grant, view),
    replicas,
    network,
    member: { retention: spec.retentionPolicy, memberConcurrency: spec.memberConcurrency },
    ...(topologyInlineBytes !== undefined && { topologyInlineBytes }),
    ...(base && { baseRevision: base }),
  });
}
