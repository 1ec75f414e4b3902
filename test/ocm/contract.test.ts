import { engineContract, OCM_HUB } from "../../src/engine/testing/contract/index.ts";
import { isLongForm } from "../form.ts";
import { startOcmFleetWithAccess, startProxiedOcmFleet } from "./fleet.ts";

engineContract("real OCM, members read directly", startOcmFleetWithAccess, OCM_HUB);
// Not seen to pass on a real Open Cluster Management yet.
if (isLongForm) {
  engineContract(
    "real OCM, members read through a proxy that has their names in its path",
    startProxiedOcmFleet,
    OCM_HUB,
  );
}
