import type { EngineName } from "../../src/api/index.ts";
import { isJsonObject, type JsonObject } from "../../src/runtime/index.ts";
import { HOLDS, MANIFEST_WORKS, WORKS } from "./attacks/attack.ts";
import type { Targets } from "./attacks/index.ts";
import { type Ask, SHOP } from "./ground.ts";

/** Finds what the controller made for the application `web`; throws where there is nothing to attack. */
export async function targetsOf(ask: Ask, engine: EngineName = "karmada"): Promise<Targets> {
  const first = async (collection: string, label: string): Promise<string> => {
    const { body } = await ask("GET", `${collection}?labelSelector=${encodeURIComponent(label)}`);
    const items = Array.isArray(body.items) ? body.items.filter(isJsonObject) : [];
    const metadata: JsonObject = isJsonObject(items[0]?.metadata) ? items[0].metadata : {};
    if (typeof metadata.name !== "string") throw new Error(`nothing with ${label} in ${collection}`);
    return `${collection}/${metadata.name}`;
  };
  return {
    hold: engine === "karmada" ? await first(HOLDS, "lockstep.karmada.io/hold=true") : "",
    work: await first(
      engine === "karmada" ? WORKS("karmada-es-member1") : MANIFEST_WORKS("member1"),
      "lockstep.karmada.io/app",
    ),
    revision: await first(`/apis/apps/v1/namespaces/${SHOP}/controllerrevisions`, "lockstep.karmada.io/statefulset"),
  };
}
