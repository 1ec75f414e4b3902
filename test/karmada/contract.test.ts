import { engineContract } from "../../src/engine/testing/contract/index.ts";
import { startKarmadaFleet } from "./fleet.ts";

engineContract("real Karmada", () => startKarmadaFleet());
