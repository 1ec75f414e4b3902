import type { HttpTransport, HttpTransportOptions } from "./http-transport.ts";

/** Production's transport. Loaded on demand: its HTTP library takes longer to load than everything else together. */
export async function openHttpTransport(options: HttpTransportOptions): Promise<HttpTransport> {
  const { HttpTransport } = await import("./http-transport.ts");
  return new HttpTransport(options);
}
