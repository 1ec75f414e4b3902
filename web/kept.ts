/** What a browser keeps for this page. A saved file may be shown where there is nothing to keep it in. */

export function kept(key: string): string {
  try {
    return localStorage.getItem(key) ?? "";
  } catch {
    return "";
  }
}

export function keep(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // It is asked for again the next time.
  }
}
