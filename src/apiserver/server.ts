import type { HttpResponse, HttpStream, Transport } from "../runtime/index.ts";
import { Registry } from "./registry.ts";
import type { ApiServerOptions, Commit, RegistryView, Route, ServerRequest, ServerSnapshot, User } from "./types.ts";

export class ApiServer {
  readonly registry: RegistryView;

  constructor(_options: ApiServerOptions) {
    this.registry = new Registry([]);
  }

  /** Answers one request. Never rejects: what goes wrong is a Status. */
  async handle(_request: ServerRequest): Promise<HttpResponse> {
    throw new Error("not built yet");
  }

  /** Answers a watch; for anything else, handle()'s answer as one chunk. */
  async stream(_request: ServerRequest): Promise<HttpStream> {
    throw new Error("not built yet");
  }

  /** For clients in this process. Without a user they are system:masters. */
  transport(_user?: User): Transport {
    return { request: (request) => this.handle(request), stream: (request) => this.stream(request) };
  }

  snapshot(): ServerSnapshot {
    throw new Error("not built yet");
  }

  /** Calls back after every stored change, in order, before the request that made it is answered. Returns how to stop. */
  onCommit(_listener: (commit: Commit) => void): () => void {
    throw new Error("not built yet");
  }

  /** Lets `route` answer for its prefix. Returns how to remove it. */
  addRoute(_route: Route): () => void {
    throw new Error("not built yet");
  }
}
