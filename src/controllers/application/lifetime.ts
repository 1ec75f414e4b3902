interface Mortal {
  readonly metadata: { readonly creationTimestamp?: string };
  readonly spec: { readonly lifetime?: { readonly ttlSeconds?: number; readonly expiresAt?: string } | undefined };
}

/** When the object ends by itself; undefined: never. */
export function endOf({ metadata, spec }: Mortal): number | undefined {
  const { lifetime } = spec;
  if (!lifetime) return undefined;
  if (lifetime.expiresAt !== undefined) return Date.parse(lifetime.expiresAt);
  const bornMs = Date.parse(metadata.creationTimestamp ?? "");
  return lifetime.ttlSeconds === undefined || Number.isNaN(bornMs) ? undefined : bornMs + lifetime.ttlSeconds * 1000;
}
