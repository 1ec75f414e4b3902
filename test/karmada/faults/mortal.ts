/** A controller that dies right after one of its writes, as a killed process would: nothing leaves it afterwards. */
import { type HttpRequest, type Transport, TransportError } from "../../../src/runtime/index.ts";

/** Renewals of the lease and Events come and go with time; what they are worth is tested with real processes. */
const UNCOUNTED = /\/(leases|events|selfsubjectaccessreviews|tokenreviews)\b|[?&]dryRun=/;

function isWrite({ method, path }: HttpRequest): boolean {
  return method !== "GET" && !UNCOUNTED.test(path);
}

export interface Mortal {
  readonly transport: Transport;
  /** The write after which it died, as `METHOD path`. */
  readonly died: Promise<string>;
  /** Cuts it off now, whatever it has written. */
  kill(): void;
}

/** Lives until its n-th write has been answered; the answer is lost, too. */
export function mortal(inner: Transport, writes: number): Mortal {
  let left = writes;
  const dead = new AbortController();
  let tell: (write: string) => void = () => {};
  const died = new Promise<string>((resolve) => {
    tell = resolve;
  });
  const lost = () => new TransportError("the process is dead", { neverSent: true });
  const alive = (request: HttpRequest): HttpRequest => {
    if (dead.signal.aborted) throw lost();
    return { ...request, signal: request.signal ? AbortSignal.any([request.signal, dead.signal]) : dead.signal };
  };
  const transport: Transport = {
    async request(request) {
      const answer = await inner.request(alive(request));
      if (dead.signal.aborted) throw lost();
      if (isWrite(request) && answer.status < 300) {
        left -= 1;
        if (left === 0) {
          dead.abort(lost());
          tell(`${request.method} ${request.path}`);
          throw lost();
        }
      }
      return answer;
    },
    stream: async (request) => inner.stream(alive(request)),
  };
  return { transport, died, kill: () => dead.abort(lost()) };
}
