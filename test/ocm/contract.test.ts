import { engineContract, OCM_HUB } from "../../src/engine/testing/contract/index.ts";
import { isLongForm } from "../form.ts";
import { startOcmFleetWithAccess, startProxiedOcmFleet } from "./fleet.ts";

// The stories of this suite read members directly, so that the form for CI has the longer way here.
engineContract(
  "real OCM, members read through a proxy that has their names in its path",
  startProxiedOcmFleet,
  OCM_HUB,
);
if (isLongForm) engineContract("real OCM, members read directly", startOcmFleetWithAccess, OCM_HUB);
