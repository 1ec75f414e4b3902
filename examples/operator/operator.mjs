// A whole operator on the package `lockstep/sdk`: one pod with one volume for each instance. Its application has no
// leader and no member list; where an application would be asked for them, a comment says so.
//   node operator.mjs [CONTEXT]
// Without a context it uses the current one of the kubeconfig, or the service account of its pod.
// @ts-check
import {
  apiPath,
  connectCluster,
  isJsonObject,
  lineLog,
  nextStep,
  operate,
  readWholeGrant,
  report,
  reportPatch,
  sameJson,
  systemClock,
  systemRandom,
} from "lockstep/sdk";

const KIND = { apiVersion: "example.io/v1alpha1", kind: "Cache", plural: "caches" };
const REVISION = "example.io/revision";
/** On a claim: what its instance runs, so that a lost pod returns exactly as it was. */
const RUNS = "example.io/runs";

/**
 * One reconcile: read the grant, look at every instance, do one step, report what was seen.
 * @param {import("lockstep/sdk").MemberObject} object
 * @param {import("lockstep/sdk").MemberClient} api
 */
async function reconcile(object, api) {
  const { namespace } = object.metadata;
  const pods = apiPath("v1", "pods", namespace);
  const claims = apiPath("v1", "persistentvolumeclaims", namespace);
  const reading = await readWholeGrant(object, (name) => api.get(`${apiPath("v1", "configmaps", namespace)}/${name}`));
  if (reading.state === "malformed") return say(object, api, { message: reading.problems.join("; ") });
  // Lockstep does not manage it, or a part of its topology is on its way.
  if (reading.state !== "granted") return;
  const { grant } = reading;

  const own = grant.topology.find(({ cluster }) => cluster === grant.cluster);
  const instances = await Promise.all(
    (own?.instances ?? []).map(async (name, at) => {
      const [found, claim] = await Promise.all([api.get(`${pods}/${name}`), api.get(`${claims}/data-${name}`)]);
      // Another pod may have the name of an instance: only what belongs to this object is changed.
      const pod = found && isOf(found, object) ? found : undefined;
      return {
        name,
        address: own?.addresses[at] ?? "",
        state: own?.states[at] ?? /** @type {const} */ ("member"),
        process: processOf(pod),
        revision: pod?.metadata.labels?.[REVISION] ?? "",
        hasVolume: runsOf(claim) !== undefined,
      };
    }),
  );

  // The third argument is the leading instance, if the application has one.
  const step = nextStep(grant, instances);
  const spec = isJsonObject(object.spec) ? object.spec : {};
  const wanted = { revision: grant.revision, image: spec.image ?? "", args: spec.args ?? [] };
  switch (step.do) {
    case "recreate": {
      const runs = runsOf(await api.get(`${claims}/data-${step.instance.name}`));
      if (runs) await api.create(pods, podOf(object, step.instance.name, runs));
      break;
    }
    case "join":
      // An application with members adds the instance to its list here, before it starts.
      await remember(step.instance.name);
      await api.create(pods, podOf(object, step.instance.name, wanted));
      break;
    case "restart":
      await remember(step.instance.name);
      await removePod(step.instance.name);
      break;
    case "remove": {
      // An application with members removes the instance from its list here.
      await removePod(step.instance.name);
      const claim = await api.get(`${claims}/data-${step.instance.name}`);
      if (claim && runsOf(claim)) await api.delete(`${claims}/data-${step.instance.name}`, claim);
      break;
    }
  }

  // Counted before the step: the next reconcile reports its result.
  const present = instances.filter(({ process }) => process !== "none");
  const ready = present.filter(({ process }) => process === "ready");
  const written = report(grant, {
    desired: typeof spec.replicas === "number" ? spec.replicas : 0,
    updated: ready.filter(({ revision }) => revision === grant.revision).length,
    ready: ready.length,
    present: present.length,
    ...(step.do === "wait" && { message: step.why }),
  });
  const { generation = 0 } = object.metadata;
  await say(object, api, {
    observedGeneration: generation,
    readyReplicas: ready.length,
    ...reportPatch(written).status,
  });

  /** @param {string} name */
  async function removePod(name) {
    const found = await api.get(`${pods}/${name}`);
    if (found && isOf(found, object)) await api.delete(`${pods}/${name}`, found);
  }

  /** @param {string} instance */
  async function remember(instance) {
    const metadata = { name: `data-${instance}`, annotations: { [RUNS]: JSON.stringify(wanted) } };
    if (await api.get(`${claims}/data-${instance}`)) await api.patch(`${claims}/data-${instance}`, { metadata });
    else {
      const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
      await api.create(claims, { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata, spec: claim });
    }
  }
}

/**
 * Writes the status if it is news, with the resourceVersion that was read: a report never lands on a newer version.
 * @param {import("lockstep/sdk").MemberObject} object
 * @param {import("lockstep/sdk").MemberClient} api
 * @param {import("lockstep/sdk").JsonObject} status
 */
async function say(object, api, status) {
  const { name, namespace, resourceVersion = "" } = object.metadata;
  if (sameJson(withoutNull(object.status), withoutNull(status))) return;
  const path = `${apiPath(KIND.apiVersion, KIND.plural, namespace)}/${name}/status`;
  await api.patch(path, { metadata: { resourceVersion }, status });
}

/**
 * Null removes a field in a patch, so a stored object has none.
 * @param {unknown} value
 * @returns {unknown}
 */
function withoutNull(value) {
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).filter(([, each]) => each !== null);
  return Object.fromEntries(kept.map(([key, each]) => [key, withoutNull(each)]));
}

/**
 * @param {import("lockstep/sdk").MemberObject} pod
 * @param {import("lockstep/sdk").MemberObject} owner
 */
function isOf({ metadata }, owner) {
  const owners = Array.isArray(metadata.ownerReferences) ? metadata.ownerReferences.filter(isJsonObject) : [];
  return owners.some(({ controller, uid }) => controller === true && uid === owner.metadata.uid);
}

/**
 * @param {import("lockstep/sdk").MemberObject | undefined} pod
 * @returns {import("lockstep/sdk").InstanceView["process"]}
 */
function processOf(pod) {
  if (!pod) return "none";
  if (pod.metadata.deletionTimestamp !== undefined) return "ending";
  const status = isJsonObject(pod.status) ? pod.status : {};
  /** @param {unknown} list */
  const each = (list) => (Array.isArray(list) ? list.filter(isJsonObject) : []);
  if (each(status.conditions).some(({ type, status: is }) => type === "Ready" && is === "True")) return "ready";
  const isCrashed = each(status.containerStatuses).some(
    ({ state }) => isJsonObject(state) && state.waiting !== undefined,
  );
  return isCrashed ? "down" : "starting";
}

/** @param {import("lockstep/sdk").MemberObject | undefined} claim */
function runsOf(claim) {
  const text = claim?.metadata.deletionTimestamp === undefined ? claim?.metadata.annotations?.[RUNS] : undefined;
  return text === undefined ? undefined : JSON.parse(text);
}

/**
 * @param {import("lockstep/sdk").MemberObject} owner
 * @param {string} name
 * @param {{ revision: string, image: import("lockstep/sdk").Json, args: import("lockstep/sdk").Json }} runs
 */
function podOf({ metadata }, name, { revision, image, args }) {
  const { apiVersion, kind } = KIND;
  const controller = { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? "", controller: true };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { [REVISION]: revision }, ownerReferences: [controller] },
    spec: {
      containers: [{ name: "main", image, args, volumeMounts: [{ name: "data", mountPath: "/data" }] }],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: `data-${name}` } }],
    },
  };
}

const log = lineLog((level, message, fields) => {
  if (level !== "debug") process.stderr.write(`${level} ${message} ${JSON.stringify(fields)}\n`);
});
const context = process.argv[2];
const connection = await connectCluster({ clock: systemClock, ...(context !== undefined && { context }) });
log.info("the operator runs", { kind: KIND.plural, context: connection.context });
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => stop.abort(new Error(signal)));
const { transport } = connection;
const [clock, random] = [systemClock, systemRandom];
await operate({ transport, clock, random, log, kind: KIND, resyncMs: 1_000, reconcile }, stop.signal);
await connection.close();
