/** CrossClusterJobs for stories on real clusters, and the command line on their hub. */
import { runCli } from "../../src/cli/program.ts";
import { testIo } from "../../src/cli/testing/harness.ts";
import { type KubeObject, resource } from "../../src/kube/index.ts";
import { openHttpTransport, systemClock } from "../../src/runtime/index.ts";
import type { World } from "./world.ts";

export const CCJ = resource({
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "CrossClusterJob",
  plural: "crossclusterjobs",
  namespaced: true,
});

export interface AskedJob {
  readonly job?: object;
  readonly spec?: object;
  /** For the simulated kubelets: how long a pod runs, where it fails, and where it does not end by itself. */
  readonly pods?: Readonly<Record<string, string>>;
}

export function jobObject(name: string, { job = {}, spec = {}, pods = {} }: AskedJob = {}): KubeObject {
  const annotations = Object.fromEntries(Object.entries(pods).map(([key, value]) => [`lockstep.test/${key}`, value]));
  const containers = [{ name: "main", image: "work:1" }];
  const template = {
    metadata: { annotations },
    spec: { restartPolicy: "Never", terminationGracePeriodSeconds: 1, containers },
  };
  return {
    apiVersion: CCJ.apiVersion,
    kind: CCJ.kind,
    metadata: { name, namespace: "default" },
    spec: {
      template: { apiVersion: "batch/v1", kind: "Job", spec: { backoffLimit: 0, template, ...job } },
      clusters: { names: ["member1", "member2", "member3"] },
      ...spec,
    },
  };
}

export async function lockstepOn(world: World, args: readonly string[]): Promise<{ code: number; said: string }> {
  const { server, tls } = world.stack.hub;
  const transport = await openHttpTransport({ server, tls });
  const io = testIo(systemClock, transport);
  const code = await runCli([...args], io);
  await transport.close();
  return { code, said: [...io.out, ...io.err].join("") };
}
