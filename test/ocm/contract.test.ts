import { engineContract, OCM_HUB } from "../../src/engine/testing/contract/index.ts";
import { startOcmFleetWithAccess } from "./fleet.ts";

engineContract("real OCM, members read directly", startOcmFleetWithAccess, OCM_HUB);
