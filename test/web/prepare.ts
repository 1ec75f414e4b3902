/** Builds the page, and makes sure that there is a browser before the suite starts; without one the suite fails. */
import { bundlePage } from "../../scripts/bundle-page.mjs";
import { findChromium } from "./browser.ts";

try {
  console.log(`browser: ${findChromium()}`);
  await bundlePage();
} catch (error) {
  console.error(`the web suite cannot run: ${error instanceof Error ? error.message : error}`);
  process.exit(1);
}
