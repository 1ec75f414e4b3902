/** The thread that parses large output, so that the controller's event loop stays free. An entry point of its own. */
import { parentPort, workerData } from "node:worker_threads";
import { readDocuments } from "./documents.ts";

parentPort?.postMessage(readDocuments(workerData));
