import { expect, it } from "vitest";
import { Screen } from "./screen.ts";

it("a screen writes a picture only if it has changed, and leaves the last lines on the normal screen", () => {
  const written: string[] = [];
  const screen = new Screen({ isTerminal: true, columns: 80, rows: 24, write: (text) => void written.push(text) });
  screen.open();
  screen.draw(["one", "two"]);
  screen.draw(["one", "two"]);
  screen.draw(["one", "three"]);
  screen.close(["the end"]);
  expect(written).toEqual([
    "\u001b[?1049h",
    "\u001b[H\u001b[Jone\ntwo\n",
    "\u001b[H\u001b[Jone\nthree\n",
    "\u001b[?1049lthe end\n",
  ]);
});
