/** What the network and its process say to each other. */
export const PROXY_PORT = 3128;

/** The parent's requests; each is answered with its number. */
export type Request =
  | { readonly number: number; readonly place: number; readonly host: string }
  | {
      readonly number: number;
      readonly from: number;
      readonly to: number;
      readonly cut: boolean;
      readonly delayMs: number;
    };
