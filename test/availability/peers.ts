import { connect as connectTcp } from "node:net";
import { connect } from "node:tls";
import type { TlsFiles } from "./certificates.ts";

const ANSWER_MS = 5_000;

/**
 * What the peer port at this address answers: the first line, or why the connection failed. It is asked from an address
 * of the place, because etcd compares a peer's address with its certificate.
 */
export function askPeer(host: string, from: string, files: TlsFiles, asMember: boolean): Promise<string> {
  return new Promise((resolve) => {
    const own = asMember ? { cert: files["tls.crt"], key: files["tls.key"] } : {};
    const plain = connectTcp({ host, port: 2380, localAddress: from });
    const socket = connect({ socket: plain, ca: files["ca.crt"], checkServerIdentity: () => undefined, ...own });
    plain.once("error", (error) => settle(error.message));
    const settle = (text: string) => {
      socket.destroy();
      resolve(text);
    };
    socket.setTimeout(ANSWER_MS, () => settle("no answer"));
    socket.once("secureConnect", () =>
      socket.write("GET /version HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\n\r\n"),
    );
    socket.once("data", (data) => settle(data.toString().split("\r\n")[0] ?? ""));
    socket.once("error", (error) => settle(error.message));
    socket.once("close", () => settle("closed"));
  });
}
