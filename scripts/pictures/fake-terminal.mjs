// Loaded into a child process before Lockstep: its output is a pipe that behaves like a terminal of the given size.
const [columns, rows] = (process.env.FAKE_TERMINAL ?? "100x30").split("x").map(Number);
for (const stream of [process.stdout, process.stderr]) {
  Object.defineProperties(stream, { isTTY: { value: true }, columns: { value: columns }, rows: { value: rows } });
}
