/**
 * Options of every command. Declared once, on the program: commander accepts them before and after the command's name.
 */
export interface GlobalOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly requestTimeout?: string;
  readonly debug?: boolean;
}
