import type { BuildOptions } from "esbuild";

export const STYLE: BuildOptions;
export const PAGE: BuildOptions;
export function bundlePage(): Promise<void>;
export function pageFiles(): Promise<string[]>;
