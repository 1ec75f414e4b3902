/**
 * A pod as a real child process on this machine: for examples with real programs. An edge: it starts processes and
 * writes files below its own folder, and decides nothing about objects.
 */
export { EtcdApplication, etcdContainer } from "./etcd.ts";
export { ProcessRuntime } from "./runtime.ts";
