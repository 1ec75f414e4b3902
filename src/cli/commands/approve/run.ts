import type { CrossClusterStatefulsetStatus } from "../../../api/index.ts";
import { AlreadyExistsError, type KubeObject } from "../../../kube/index.ts";
import { approveApplication } from "../../applications/acting.ts";
import { applicationName } from "../../applications/kind.ts";
import { CommandError } from "../../errors.ts";
import { change, describe, FIELD_MANAGER, readStatefulset } from "../../hub/change.ts";
import { APPROVALS } from "../../hub/hub.ts";
import { goingOn } from "../../hub/rollout-words.ts";
import type { Bound } from "../../hub/seen.ts";
import { whoAmI } from "../../hub/whoami.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Io } from "../../terminal/io.ts";
import type { ApproveOptions } from "./command.ts";

/** The maximum length of an object's name; an approval's name consists of parts that fit. */
const APPROVAL_NAME_CHARS = 253;

/** `lockstep approve`: only for the wave that waits; a wave that has not started cannot be approved by mistake. */
export function approve(io: Io, given: string, options: ApproveOptions & GlobalOptions & Bound): Promise<undefined> {
  const application = applicationName(given);
  if (application !== undefined) return approveApplication(io, application, options);
  const { revision: expected } = options;
  const bound = { ...options, seen: { ...options.seen, ...(expected !== undefined && { revision: expected }) } };
  return change(io, given, bound, async (hub, object) => {
    const { spec, status, metadata } = readStatefulset(object);
    const waves = spec.updateStrategy.rollingUpdate.waves?.length ?? 0;
    const { revision, wave } = waitingWave(status, waves, options.wave, describe(object));
    const approvedBy = await whoAmI(hub);
    const name = `${metadata.name}-${revision}-wave-${wave}`.slice(0, APPROVAL_NAME_CHARS);
    const approval: KubeObject = {
      apiVersion: APPROVALS.apiVersion,
      kind: APPROVALS.kind,
      metadata: { name, namespace: hub.namespace },
      spec: {
        name: metadata.name,
        revision,
        wave,
        ...(options.comment !== undefined && { comment: options.comment }),
        ...(approvedBy !== undefined && { approvedBy }),
      },
    };
    try {
      await hub.client.create(APPROVALS, approval, { ...hub.request, fieldManager: FIELD_MANAGER });
    } catch (error) {
      if (!(error instanceof AlreadyExistsError)) throw error;
      return `wave ${wave} of ${describe(object)} is already approved for revision ${revision}`;
    }
    const by = approvedBy === undefined ? "; the hub does not report the user" : ` by ${approvedBy}`;
    return `wave ${wave} of ${describe(object)} is approved for revision ${revision}${by}`;
  });
}

function waitingWave(
  status: CrossClusterStatefulsetStatus | undefined,
  waves: number,
  given: string | undefined,
  object: string,
): { revision: string; wave: number } {
  const { to, wave, awaitingApproval } = status?.rollout ?? {};
  const asked = given === undefined ? undefined : waveNumber(given, waves, object);
  if (to === undefined || wave === undefined || !awaitingApproval) {
    throw new CommandError(`no wave of ${object} waits for approval: ${goingOn(status)}`);
  }
  if (asked !== undefined && asked !== wave) {
    throw new CommandError(`--wave ${asked}: wave ${wave} of ${object} waits for approval, not wave ${asked}`);
  }
  return { revision: to, wave };
}

function waveNumber(given: string, waves: number, object: string): number {
  if (waves === 0) throw new CommandError(`${object} has no waves (spec.updateStrategy.rollingUpdate.waves)`);
  const wave = Number(given);
  if (given.trim() !== "" && Number.isInteger(wave) && wave >= 1 && wave <= waves) return wave;
  throw new CommandError(`--wave '${given}': ${object} has ${waves === 1 ? "one wave: 1" : `the waves 1 to ${waves}`}`);
}
