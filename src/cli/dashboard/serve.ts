/** The dashboard for a hub: who may sign in, and with which credentials. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type ClusterConnection, connectCluster } from "../../kube/index.ts";
import { type Clock, isJsonObject, type Log, type Random } from "../../runtime/index.ts";
import { type Dashboard, Refused, startDashboard, type Viewer } from "../../web/index.ts";
import { CommandError } from "../errors.ts";
import { HubViewer } from "./viewer.ts";

export interface ServeOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly program: string;
  /** Whose server and CA every viewer uses, and whose credentials no viewer gets by signing in. */
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly readOnly: boolean;
  /** `HOST:PORT` or `PORT`. */
  readonly address: string;
}

export interface ServedDashboard extends Dashboard {
  /** Signs one browser in with the credentials of the kubeconfig, once. Only for a user who has that file. */
  ownLink(): string;
}

const SECRET_BYTES = 32;

export async function serveDashboard(options: ServeOptions): Promise<ServedDashboard> {
  const { clock, random, log, readOnly, kubeconfig, context, program } = options;
  const open = async (token: string | undefined): Promise<Viewer> => {
    const connection = await connectCluster({ clock, kubeconfig, context, token });
    try {
      const user = await whoIs(connection, clock);
      return new HubViewer({ connection, user, clock, random, program });
    } catch (error) {
      await connection.close();
      throw error;
    }
  };
  const dashboard = await startDashboard({
    clock,
    log,
    readOnly,
    program,
    newSecret: () => randomBytes(SECRET_BYTES).toString("base64url"),
    pageFolder: pageFolder(),
    signIn: open,
    ...addressOf(options.address),
  });
  return {
    url: dashboard.url,
    oneTimeLink: (viewer) => dashboard.oneTimeLink(viewer),
    ownLink: () => dashboard.oneTimeLink(() => open(undefined)),
    close: () => dashboard.close(),
  };
}

/** Throws CommandError for anything but `PORT` and `HOST:PORT`. */
export function addressOf(text: string): { host?: string; port: number } {
  const match = /^(?:(.+):)?(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (!match || port > 65_535) {
    throw new CommandError(
      `'${text}' is not an address of the dashboard; use PORT or 127.0.0.1:PORT, 0 for a free port`,
    );
  }
  const host = match[1]?.replace(/^\[|\]$/g, "");
  return { port, ...(host !== undefined && { host }) };
}

/** Beside the built program; in a checkout, where the build puts it. */
function pageFolder(): string {
  const beside = fileURLToPath(new URL("./web", import.meta.url));
  return existsSync(beside) ? beside : fileURLToPath(new URL("../../../dist/web", import.meta.url));
}

const REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const DEADLINE_MS = 10_000;

/** The user's name on the hub. Throws Refused if the hub does not accept the credentials, or does not answer. */
async function whoIs({ transport, server }: ClusterConnection, clock: Clock): Promise<string> {
  const deadline = new AbortController();
  const cancel = clock.after(DEADLINE_MS, () => deadline.abort(new Error("no answer within 10 s")));
  try {
    const { status, body } = await transport.request({
      method: "POST",
      path: REVIEWS,
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }),
      signal: deadline.signal,
    });
    if (status === 401) throw new Refused(401, "The hub does not accept this token. It may have expired.");
    // A hub older than Kubernetes 1.28 accepts the credentials and does not know the question.
    return (status < 300 ? nameIn(JSON.parse(body)) : undefined) ?? "unknown user";
  } catch (error) {
    if (error instanceof Refused) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new Refused(502, `The hub at ${server} does not answer: ${why}`);
  } finally {
    cancel();
  }
}

function nameIn(review: unknown): string | undefined {
  const status = isJsonObject(review) && isJsonObject(review.status) ? review.status : {};
  const name = isJsonObject(status.userInfo) ? status.userInfo.username : undefined;
  return typeof name === "string" && name !== "" ? name : undefined;
}
