/** A webhook behind node:https: reads a body of limited size and returns the webhook's answer. */
import { createServer, type Server } from "node:https";
import { type InterpreterWebhook, MAX_REQUEST_BYTES } from "../../src/sdk/index.ts";

export function interpreterServer(webhook: InterpreterWebhook, tls: { cert: string; key: string }): Server {
  return createServer(tls, (request, response) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    request.on("data", (part: Buffer) => {
      bytes += part.length;
      if (bytes <= MAX_REQUEST_BYTES) parts.push(part);
      else response.writeHead(413).end(() => request.destroy());
    });
    request.on("end", async () => {
      if (response.headersSent) return;
      const { status, headers, body } = await webhook.handle(Buffer.concat(parts).toString("utf8"));
      response.writeHead(status, headers).end(body);
    });
  });
}
