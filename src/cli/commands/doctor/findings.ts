export interface Finding {
  readonly check: string;
  readonly state: "ok" | "warning" | "problem";
  readonly message: string;
  readonly remedy?: string;
}
