/** The thread that reads large text, so that the controller's event loop stays free. An entry point of its own. */
import { parentPort, workerData } from "node:worker_threads";
import { perform } from "./tasks.ts";

parentPort?.postMessage(perform(workerData));
