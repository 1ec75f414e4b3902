/**
 * The dashboard's server: the page's files, sign-in, live streams and actions. It has no rights of its own: a `Viewer`,
 * which the caller opens with the credentials of the person who looks, reads and writes everything. The page itself is
 * in `web/` and shares only `types.ts` with this room. An edge: it listens on a socket and reads the page's files.
 */
export { PageMissingError } from "./assets.ts";
export { isLoopbackHost } from "./guard.ts";
export type { Dashboard, DashboardOptions } from "./server.ts";
export { NotLoopbackError, startDashboard } from "./server.ts";
export type * from "./types.ts";
export { ACTIONS } from "./types.ts";
export { Refused, type Viewer } from "./viewer.ts";
