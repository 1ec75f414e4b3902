/** Wraps lines for a narrower screen. Pure. */

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with the escape character
const COLOUR = /(\u001b\[[0-9;]*m)/g;
const PLAIN = "\u001b[0m";
const ENDS_OF_COLOUR = new Set(["\u001b[22m", "\u001b[39m", PLAIN]);
/** No wrapping for a narrower screen: a word must fit next to the tree. */
const NARROWEST = 20;
const STEM = /^[│├└─ ]*/;
const CONTINUED_BY = "  ";

/** The visible width: colours take no room. */
export function widthOf(line: string): number {
  return [...line.replaceAll(COLOUR, "")].length;
}

/**
 * At most the screen's width: breaks at blanks, and continues below the start of the text, so that a tree stays intact.
 */
export function wrapped(line: string, columns: number): string[] {
  if (widthOf(line) <= columns || columns < NARROWEST) return [line];
  const stem = STEM.exec(line)?.[0] ?? "";
  const below = stem.replaceAll("├", "│").replaceAll(/[└─]/g, " ") + CONTINUED_BY;
  const lines: string[] = [];
  let [shown, width, colour] = [stem, widthOf(stem), ""];
  const breakOff = () => {
    lines.push(shown.trimEnd() + (colour === "" ? "" : PLAIN));
    [shown, width] = [below + colour, widthOf(below)];
  };
  for (const word of line.slice(stem.length).split(/(?<= )(?! )/)) {
    if (width + widthOf(word.trimEnd()) > columns && width > widthOf(below)) breakOff();
    for (const part of word.split(COLOUR)) {
      if (part.startsWith("\u001b")) {
        colour = ENDS_OF_COLOUR.has(part) ? "" : part;
        shown += part;
        continue;
      }
      for (const character of part) {
        if (width >= columns && character !== " ") breakOff();
        shown += character;
        width++;
      }
    }
  }
  return [...lines, shown.trimEnd()];
}
