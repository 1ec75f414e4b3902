// The work of this suite: it writes a line when it starts and when it ends, so the file proves what ran, where and how
// often. It works until its gate is open: a file named after its cluster, or "all", in the folder of gates.
import { appendFileSync, existsSync } from "node:fs";

const { RUNS = "", GATES = "", CLUSTER = "", POD_NAME = "", FAIL_IN = "", WORK = "" } = process.env;
const LOOK_MS = 20;

/** An attempt has some of the work's indexes: the entry at the Job's own index is the one to work on. */
function indexOfWork() {
  const own = process.env.JOB_COMPLETION_INDEX;
  const given = process.env.LOCKSTEP_INDEXES;
  if (own === undefined || given === undefined) return own === undefined ? null : Number(own);
  const indexes = given.split(",").flatMap((range) => {
    const [first, last = first] = range.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, at) => first + at);
  });
  return indexes[Number(own)];
}

const index = indexOfWork();
const say = (what) =>
  appendFileSync(
    RUNS,
    `${JSON.stringify({ what, work: WORK, index, cluster: CLUSTER, pod: POD_NAME, pid: process.pid, atMs: Date.now() })}\n`,
  );

process.on("SIGTERM", () => {
  say("stopped");
  process.exit(143);
});
say("started");
const gates = [`${GATES}/${CLUSTER}`, `${GATES}/all`];
const look = setInterval(() => {
  if (!gates.some((gate) => existsSync(gate))) return;
  clearInterval(look);
  const isFailure = FAIL_IN.split(",").includes(CLUSTER);
  say(isFailure ? "failed" : "done");
  process.exitCode = isFailure ? 1 : 0;
}, LOOK_MS);
