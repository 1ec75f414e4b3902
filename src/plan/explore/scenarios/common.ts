/** Settings that many scenarios share. */
export const STATEFUL_SETS = { protocol: "statefulset" } as const;
export const IGNORANT = { protocol: "ignorant", identity: { mode: "PerCluster" } } as const;

/**
 * So many states where all of them are too many to visit: several clusters act at the same time, each with its own lag, so
 * that their states multiply. Those nearest to every stage of an undisturbed run are visited instead.
 */
export const TOO_MANY = 1_000;
