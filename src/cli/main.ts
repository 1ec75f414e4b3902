import { runCli } from "./program.ts";
import { systemIo } from "./terminal/io.ts";

const exitCode = await runCli(process.argv.slice(2), systemIo());
if (exitCode !== 0) process.exitCode = exitCode;
