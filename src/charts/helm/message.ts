/** What of a program's stderr tells the user what is wrong. */

/** Longer messages are cut: conditions hold 32 KiB, and people read less. */
const MAX_CHARACTERS = 2_000;

/** helm's own words: the `Error:` line and the lines that continue it, without advice that does not apply here. */
export function helmError(stderr: string, replacements: Readonly<Record<string, string>> = {}): string {
  const lines = stderr.split("\n");
  const start = lines.findIndex((line) => line.startsWith("Error: "));
  const told = (start < 0 ? lines : lines.slice(start)).filter(
    (line) => line.trim() !== "" && !/^Use --debug/.test(line.trim()),
  );
  const text = told
    .join("\n")
    .replace(/^Error: /, "")
    .replace(/^INSTALLATION FAILED: /, "")
    .trim();
  return cut(replaced(text, replacements)) || "the program failed without a message";
}

/** kustomize nests its errors; the innermost one comes first. */
export function kustomizeError(stderr: string, replacements: Readonly<Record<string, string>> = {}): string {
  const text = replaced(stderr.trim(), replacements).replace(/^Error: /, "");
  return cut(text.replace(/: must build at directory: .*$/s, "")) || "the program failed without a message";
}

/** Paths of a temporary folder mean nothing to a user. */
function replaced(text: string, replacements: Readonly<Record<string, string>>): string {
  return Object.entries(replacements).reduce((sofar, [from, to]) => sofar.replaceAll(from, to), text);
}

function cut(text: string): string {
  return text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS)}...`;
}
