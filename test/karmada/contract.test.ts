import { engineContract } from "../../src/engine/testing/contract.ts";
import { startKarmadaFleet } from "./fleet.ts";

engineContract("real Karmada", startKarmadaFleet);
