import { readFileSync } from "node:fs";
import { fooWebhook } from "./foo.ts";
import { interpreterServer } from "./listen.ts";

const { TLS_CERT = "tls.crt", TLS_KEY = "tls.key", PORT = "8443", HOST = "127.0.0.1" } = process.env;
const tls = { cert: readFileSync(TLS_CERT, "utf8"), key: readFileSync(TLS_KEY, "utf8") };
interpreterServer(fooWebhook, tls).listen(Number(PORT), HOST, () => {
  process.stdout.write(`reading Foos at https://${HOST}:${PORT}/explore-foo\n`);
});
