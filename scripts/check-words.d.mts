export const WORDS: [words: string, instead: string][];
export function findings(file: string, text: string): string[];
export function isChecked(file: string): boolean;
