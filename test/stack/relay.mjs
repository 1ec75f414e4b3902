// The network between the hub and one member: whatever connects to LISTEN-PORT reaches TARGET-PORT. While this process is
// dead the member is cut off, and inside it everything continues.
// node relay.mjs LISTEN-PORT TARGET-PORT
import { connect, createServer } from "node:net";

const [listenPort, targetPort] = process.argv.slice(2).map(Number);
createServer((near) => {
  const far = connect({ host: "127.0.0.1", port: targetPort });
  near.pipe(far).pipe(near);
  near.on("error", () => far.destroy());
  far.on("error", () => near.destroy());
}).listen(listenPort, "127.0.0.1");
