import { systemIo } from "./io.ts";
import { runCli } from "./program.ts";

const exitCode = await runCli(process.argv.slice(2), systemIo());
if (exitCode !== 0) process.exitCode = exitCode;
