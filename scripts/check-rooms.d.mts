export const ROOMS: string[][];
export function violations(file: string, text: string): string[];
export function pageViolations(file: string, text: string): string[];
