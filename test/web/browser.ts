/** Debian's Chromium, as the suite drives it. */
import { existsSync } from "node:fs";
import axe from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
/** Without its own network traffic; the sandbox needs rights that a container of CI does not have. */
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export function findChromium(): string {
  const found = CHROMIUM.find((path) => existsSync(path));
  if (found === undefined) {
    throw new Error(
      `no Chromium: none of ${CHROMIUM.join(", ")} exists; install it, on Debian: apt-get install chromium`,
    );
  }
  return found;
}

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: findChromium(), args: FLAGS });
}

const AXE = axe.source;

/** What axe finds wrong with the page as it is now: each rule, and where. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const found: AxeResult[] = await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then((all) => all.violations)",
  );
  return found.map(
    ({ id, nodes }) =>
      `${id}: ${nodes.map(({ target, failureSummary }) => `${target.join(" ")} (${failureSummary})`).join("; ")}`,
  );
}

interface AxeResult {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[];
}
