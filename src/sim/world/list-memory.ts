import type { HttpRequest, HttpResponse } from "../../runtime/index.ts";
import type { Reach } from "../seed/reach.ts";

/** A lagging cache is behind by seconds or minutes, never by days. */
const RECALLED_FROM_MS = 4_000;
const RECALLED_TO_MS = 240_000;
const KEPT_PER_LIST = 6;

/**
 * Earlier list results: an API server behind a load balancer may answer from a lagging cache, and a process that has
 * just started cannot notice. Selections by label are read without caches, and never come from here.
 */
export class ListMemory {
  readonly #reach: Reach;
  readonly #said = new Map<string, { readonly atMs: number; readonly response: HttpResponse }[]>();

  constructor(reach: Reach) {
    this.#reach = reach;
  }

  remember(request: HttpRequest, response: HttpResponse, nowMs: number): void {
    const key = listKey(request);
    if (key === undefined || response.status !== 200) return;
    const said = this.#said.get(key) ?? [];
    said.push({ atMs: nowMs, response });
    if (said.length > KEPT_PER_LIST) said.shift();
    this.#said.set(key, said);
  }

  recall(request: HttpRequest, nowMs: number): HttpResponse | undefined {
    const said = this.#said.get(listKey(request) ?? "") ?? [];
    const old = said.find(({ atMs }) => nowMs - atMs >= RECALLED_FROM_MS && nowMs - atMs <= RECALLED_TO_MS);
    if (old) this.#reach.count("an outdated list");
    return old?.response;
  }
}

function listKey({ method, path }: HttpRequest): string | undefined {
  const [plain = "", query = ""] = path.split("?");
  const params = new URLSearchParams(query);
  const isList = method === "GET" && params.has("limit") && !params.has("watch") && !params.has("labelSelector");
  return isList && !params.has("continue") ? plain : undefined;
}
