/**
 * A pod as a real child process on this machine: for examples with real programs. An edge: it starts processes and
 * writes files below its own folder, and decides nothing about objects.
 */
export { Children } from "./children.ts";
export { EtcdApplication, etcdContainer } from "./etcd.ts";
export { identityOf, isAlive, type ProcessIdentity } from "./identity.ts";
export { ProcessRuntime } from "./runtime.ts";
