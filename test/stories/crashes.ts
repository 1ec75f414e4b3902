/** A connection to the hub that ends after some writes, as the process behind it would: the last one has happened. */
import { type HttpRequest, type Transport, TransportError } from "../../src/runtime/index.ts";

export interface CrashingTransport extends Transport {
  /** Resolves with the last write when it was answered; the controller never learns the answer. */
  readonly crashed: Promise<string>;
  /** From now on nothing leaves this process. */
  end(): void;
}

export function crashingTransport(transport: Transport, afterWrites: number): CrashingTransport {
  let writes = 0;
  let isOver = false;
  let tell: (write: string) => void = () => {};
  const crashed = new Promise<string>((resolve) => {
    tell = resolve;
  });
  const refuseIfOver = () => {
    if (isOver) throw new TransportError("the controller was killed");
  };
  return {
    crashed,
    end() {
      isOver = true;
    },
    async request(each) {
      refuseIfOver();
      // Two writes at once: what was sent before the crash may happen after it.
      const isLast = isWrite(each) && ++writes === afterWrites;
      const answer = await transport.request(each);
      if (isLast) {
        isOver = true;
        tell(`${each.method} ${each.path}`);
      }
      refuseIfOver();
      return answer;
    },
    stream(each) {
      refuseIfOver();
      return transport.stream(each);
    },
  };
}

/** Events and the lease are not about an application. */
function isWrite({ method, path }: HttpRequest): boolean {
  return method !== "GET" && !/\/(events|leases)(\/|\?|$)/.test(path);
}
