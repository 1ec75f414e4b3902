/** A webhook behind node:https: reads a bounded body, answers what the webhook answers. */
import { createServer, type Server } from "node:https";
import type { InterpreterWebhook } from "../../src/sdk/index.ts";

/** Objects are at most 1.5 MiB; Retain sends two. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;

export function interpreterServer(webhook: InterpreterWebhook, tls: { cert: string; key: string }): Server {
  return createServer(tls, (request, response) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    request.on("data", (part: Buffer) => {
      bytes += part.length;
      if (bytes <= MAX_BODY_BYTES) parts.push(part);
      else response.writeHead(413).end(() => request.destroy());
    });
    request.on("end", async () => {
      if (response.headersSent) return;
      const { status, headers, body } = await webhook.handle(Buffer.concat(parts).toString("utf8"));
      response.writeHead(status, headers).end(body);
    });
  });
}
