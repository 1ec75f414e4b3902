import type { RequestListener } from "node:http";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { fooWebhook } from "../../../examples/interpreter-webhook/foo.ts";
import { interpreterServer } from "../../../examples/interpreter-webhook/listen.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { systemClock } from "../../runtime/index.ts";
import {
  type Authority,
  newAuthority,
  newCertificate,
  readBody,
  type ServerCertificate,
  serve,
} from "../testing/https.ts";
import { bench, exploring, foo, interpreting } from "../testing/interpreter.ts";
import { httpWebhookTransports } from "./caller.ts";

let authority: Authority;
let certificate: ServerCertificate;
const running: (() => Promise<void>)[] = [];

beforeAll(async () => {
  authority = await newAuthority();
  certificate = await newCertificate(authority);
});

afterEach(async () => {
  for (const close of running.splice(0)) await close();
});

const answerFoo: RequestListener = async (request, response) => {
  const { status, headers, body } = await fooWebhook.handle(await readBody(request));
  response.writeHead(status, headers).end(body);
};

/** One request over real TLS, on the wall clock. */
async function ask(
  listener: RequestListener,
  options: { server?: ServerCertificate; ca?: string; configuration?: typeof exploring; object?: JsonObject } = {},
) {
  const server = await serve(options.server ?? certificate, listener);
  running.push(server.close);
  const { interpreter } = bench({ transports: httpWebhookTransports, clock: systemClock });
  running.push(async () => interpreter.stop());
  const caBundle = Buffer.from(options.ca ?? authority.pem).toString("base64");
  const configuration = options.configuration ?? exploring;
  interpreter.setWebhooks([
    configuration("example", { clientConfig: { url: `https://127.0.0.1:${server.port}/explore-foo`, caBundle } }),
  ]);
  expect(interpreter.reports().flatMap(({ problems }) => problems)).toEqual([]);
  return interpreter.interpretNow("InterpretHealth", {
    object: options.object ?? foo("1", { status: { phase: "Running" } }),
  });
}

describe("a webhook over TLS", () => {
  it("answers with a certificate of the configured CA, in both protocols", async () => {
    const wanted = { state: "known", value: true, layer: "webhook", source: "example/foo.example.com" };
    expect(await ask(answerFoo)).toEqual(wanted);
    expect(await ask(answerFoo, { configuration: interpreting })).toEqual(wanted);
    expect(await ask(answerFoo, { object: foo("1", { status: { phase: "Failed" } }) })).toMatchObject({ value: false });
  });

  it("is refused if its certificate is from another CA, has expired, or has another name", async () => {
    const other = await newAuthority("Another CA");
    const cases = [
      { ca: other.pem, reason: /signature|issuer|self.signed|verify/i },
      { server: await newCertificate(authority, undefined, { expired: true }), reason: /expired/ },
      {
        server: await newCertificate(authority, [{ type: "dns", value: "elsewhere.test" }]),
        reason: /altnames|match/i,
      },
    ];
    for (const { reason, ...options } of cases) {
      const outcome = await ask(answerFoo, options);
      expect(outcome).toMatchObject({ state: "failed", code: "Unreachable" });
      expect(outcome.state === "failed" && outcome.reason).toMatch(reason);
    }
  });

  it("behind a Service must have the Service's name in its certificate, at any address", async () => {
    const named = await newCertificate(authority, [{ type: "dns", value: "reader.ops.svc" }]);
    const server = await serve(named, answerFoo);
    running.push(server.close);
    const ask = async (servername: string) => {
      const { interpreter } = bench({
        transports: httpWebhookTransports,
        clock: systemClock,
        resolveService: () => ({ origin: `https://127.0.0.1:${server.port}`, servername }),
      });
      running.push(async () => interpreter.stop());
      const caBundle = Buffer.from(authority.pem).toString("base64");
      interpreter.setWebhooks([
        exploring("e", { clientConfig: { service: { namespace: "ops", name: "reader" }, caBundle } }),
      ]);
      return interpreter.interpretNow("InterpretHealth", { object: foo("1", { status: { phase: "Running" } }) });
    };
    expect(await ask("reader.ops.svc")).toMatchObject({ state: "known", value: true });
    expect(await ask("other.ops.svc")).toMatchObject({ state: "failed", code: "Unreachable" });
  });

  it("that redirects, fails or returns invalid data ends with the reason", async () => {
    const redirect: RequestListener = (_, response) =>
      response.writeHead(302, { location: "https://elsewhere.test" }).end();
    expect(await ask(redirect)).toMatchObject({ state: "failed", code: "Redirect" });
    expect(await ask((_, response) => response.writeHead(500).end("boom"))).toMatchObject({ code: "BadStatus" });
    expect(await ask((_, response) => response.end("<html>"))).toMatchObject({ code: "Malformed" });
    expect(await ask((request) => request.socket.destroy())).toMatchObject({ code: "Unreachable" });
  });

  it("that sends without end is cut off", async () => {
    const endless: RequestListener = (_, response) => {
      const more = () => {
        while (!response.destroyed && response.write("x".repeat(64 * 1024)));
      };
      response.on("drain", more);
      more();
    };
    expect(await ask(endless)).toMatchObject({ state: "failed", code: "TooLarge" });
  });

  it("works with the example's listener", async () => {
    const server = interpreterServer(fooWebhook, certificate);
    const listener = server.listeners("request")[0] as RequestListener;
    expect(await ask(listener)).toMatchObject({ state: "known", value: true });
  });
});
