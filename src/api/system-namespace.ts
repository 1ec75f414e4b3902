/** Lockstep's own namespace on the hub, unless `--system-namespace` sets another. Tenants have no rights there. */
export const DEFAULT_SYSTEM_NAMESPACE = "lockstep-system";
