export const ROOMS: string[][];
export function violations(file: string, text: string): string[];
