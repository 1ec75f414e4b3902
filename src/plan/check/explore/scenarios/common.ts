/** Settings that many scenarios share. */
export const STATEFUL_SETS = { protocol: "statefulset" } as const;
export const IGNORANT = { protocol: "ignorant", identity: { mode: "PerCluster" } } as const;
