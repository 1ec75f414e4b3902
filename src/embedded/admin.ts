import type { Route, ServerRequest } from "../apiserver/index.ts";
import { type HttpResponse, isJsonObject, type JsonObject } from "../runtime/index.ts";
import type { EmbeddedFleet } from "./fleet.ts";
import { type LinkFaults, status } from "./link.ts";
import { numberAt } from "./values.ts";

/** Below this path of the hub: GET shows the members, POST `NAME/cut` and similar actions break and repair them. */
export const ADMIN_PREFIX = "/lockstep/v1/fleet/";

/** A user who may do everything in a cluster may also break it. In-process callers have no user. */
const MASTERS = "system:masters";

/** A slower answer than this counts as no answer. */
const MAX_SLOW_MS = 600_000;
const MAX_FAIL_NEXT = 1_000_000;

/** Faults over HTTP: for `lockstep demo` in another terminal, and for tests in other processes. */
export function adminRoute(fleet: EmbeddedFleet): Route {
  return {
    prefix: ADMIN_PREFIX,
    async handle(request) {
      if (request.user && !request.user.groups.includes(MASTERS)) {
        return status(403, "Forbidden", `${request.user.name} is not in ${MASTERS}: faults are for the fleet's owner`);
      }
      return answer(fleet, request);
    },
  };
}

function answer(fleet: EmbeddedFleet, request: ServerRequest): HttpResponse {
  const [path = ""] = request.path.slice(ADMIN_PREFIX.length).split("?");
  const [name = "", verb = "", ...rest] = path.split("/");
  if (request.method === "GET" && name === "")
    return json({ members: fleet.memberNames.map((each) => describe(fleet, each)) });
  if (!fleet.memberNames.includes(name) || rest.length > 0) {
    return status(404, "NotFound", `no member "${name}"; there are ${fleet.memberNames.join(", ")}`);
  }
  if (request.method === "GET" && verb === "") return json(describe(fleet, name));
  if (request.method !== "POST") return status(405, "MethodNotAllowed", "use GET to read and POST to act");
  const problem = act(fleet, name, verb, request.body);
  return problem === undefined ? json(describe(fleet, name)) : status(400, "BadRequest", problem);
}

/** The error in the request, if any. */
function act(fleet: EmbeddedFleet, name: string, verb: string, body: string | undefined): string | undefined {
  switch (verb) {
    case "cut":
      fleet.cut(name);
      return undefined;
    case "mend":
      fleet.mend(name);
      return undefined;
    case "kill":
      fleet.kill(name);
      return undefined;
    case "restart":
      fleet.restart(name);
      return undefined;
    case "drop-watches":
      fleet.dropWatches(name);
      return undefined;
    case "disturb": {
      const faults = readFaults(body);
      if (typeof faults === "string") return faults;
      fleet.disturb(name, faults);
      return undefined;
    }
    default:
      return `"${verb}" is not one of cut, mend, kill, restart, drop-watches, disturb`;
  }
}

function readFaults(body: string | undefined): Partial<Omit<LinkFaults, "closed">> | string {
  const wanted = `a JSON object with slowMs (0 to ${MAX_SLOW_MS}), failRate (0 to 1) or failNext (0 to ${MAX_FAIL_NEXT})`;
  let parsed: unknown;
  try {
    parsed = JSON.parse(body ?? "");
  } catch {
    return `the body must be ${wanted}`;
  }
  if (!isJsonObject(parsed)) return `the body must be ${wanted}`;
  const limits = { slowMs: MAX_SLOW_MS, failRate: 1, failNext: MAX_FAIL_NEXT };
  const faults: { -readonly [Key in keyof typeof limits]?: number } = {};
  for (const [field, limit] of Object.entries(limits) as [keyof typeof limits, number][]) {
    if (parsed[field] === undefined) continue;
    const value = numberAt(parsed, field);
    if (value === undefined || value < 0 || value > limit) return `${field} must be a number from 0 to ${limit}`;
    faults[field] = value;
  }
  return faults;
}

function describe(fleet: EmbeddedFleet, name: string): JsonObject {
  const { reachable, up, slowMs, failRate, failNext } = fleet.state(name);
  return { name, reachable, up, slowMs, failRate, failNext };
}

function json(body: JsonObject): HttpResponse {
  return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}
