/** The terminal behind the pictures, and how its screens become pictures. */
import { describe, expect, it } from "vitest";
import { shownBy } from "../pictures.ts";
import { animation, still } from "./svg.ts";
import { Terminal, textOf } from "./terminal.ts";

const screen = (...written: string[]) => {
  const terminal = new Terminal(20);
  for (const text of written) terminal.write(text);
  return terminal.lines();
};
const texts = (...written: string[]) => screen(...written).map(textOf);

describe("the terminal", () => {
  it("keeps columns, and wraps where the screen ends", () => {
    expect(texts("a  b\n   c\n")).toEqual(["a  b", "   c"]);
    expect(texts("x".repeat(21))).toEqual(["x".repeat(20), "x"]);
  });

  it("draws over what was drawn: going home, going up, clearing", () => {
    expect(texts("one\ntwo\n", "\u001b[H\u001b[Jthree\n")).toEqual(["three"]);
    expect(texts("head\none\ntwo\n", "\u001b[2A\u001b[Jthree\n")).toEqual(["head", "three"]);
  });

  it("restores the first screen when it leaves the second one", () => {
    expect(texts("$ watch\n", "\u001b[?1049hpicture\n")).toEqual(["picture"]);
    expect(texts("$ watch\n", "\u001b[?1049hpicture\n", "\u001b[?1049llast\n")).toEqual(["$ watch", "last"]);
  });

  it("knows the colours, and separates styles", () => {
    const [line] = screen("\u001b[1mbold\u001b[22m \u001b[32mgood\u001b[39m plain");
    expect(line?.map(({ column, text, style }) => [column, text, style.bold, style.colour])).toEqual([
      [0, "bold", true, undefined],
      [5, "good", false, "green"],
      [10, "plain", false, undefined],
    ]);
  });

  it("refuses an unknown sequence instead of leaving it out of a picture", () => {
    expect(() => screen("\u001b[5;5H")).toThrow("does not know ESC [ 5;5H");
    expect(() => screen("\u001b[45m")).toThrow("does not know colour 45");
  });
});

describe("a picture", () => {
  it("gives every run its position and width, for any font", () => {
    const svg = still("lockstep x", screen("a \u001b[31m<b>\u001b[39m"), "what it shows");
    expect(svg).toContain('<text x="16.0" y="48" textLength="8.4">a</text>');
    expect(svg).toContain('<text x="32.8" y="48" textLength="25.2" class="red">&lt;b&gt;</text>');
  });

  it("keeps the blanks between words, also for viewers without style sheets", () => {
    expect(still("lockstep x", screen("a  b"), "")).toMatch(/^<svg [^>]* xml:space="preserve">/);
  });

  it("shows one frame at a time, and the chosen one to readers who want no motion", () => {
    const frames = ["one", "two"].map((text) => ({ lines: screen(text), seconds: 1 }));
    const svg = animation("lockstep x", frames, "", 1);
    expect(animation("lockstep x", frames, "", 0)).toContain(".f{visibility:hidden}#f0{visibility:visible}");
    expect(svg).toContain("@keyframes f0{0.00%{visibility:visible}50.00%{visibility:hidden}}");
    expect(svg).toContain("@keyframes f1{0%{visibility:hidden}50.00%{visibility:visible}}");
    expect(svg).toContain(".f{visibility:hidden}#f1{visibility:visible}");
    expect(svg).toContain("@media(prefers-reduced-motion:no-preference){#f1{animation:");
    expect(shownBy(svg)).toBe("48 two");
  });

  it("is compared without clock-dependent parts", () => {
    const shown = (text: string) => shownBy(still("x", screen(text), ""));
    expect(shown("took 1.5 s")).toBe(shown("took 0.7 s"));
    expect(shown("web-rhsrm485vr")).toBe(shown("web-n8gw5pk6jk"));
    expect(shown("1 ready")).not.toBe(shown("2 ready"));
  });
});
