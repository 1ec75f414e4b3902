import { expect, it } from "vitest";
import { parse } from "yaml";
import type { HttpRequest, Transport } from "../../../runtime/index.ts";
import { runAlone } from "../../testing/harness.ts";
import { whyNotInPod } from "./hub-kubeconfig.ts";

const ENDS = "2027-01-01T00:00:00Z";

/** `install --set kubeconfig` against a hub that answers every request so. */
async function ask(answer: { status: number; body: string }, ...more: string[]) {
  const asked: HttpRequest[] = [];
  const transport: Transport = {
    async request(request) {
      asked.push(request);
      return { headers: {}, ...answer };
    },
    stream: () => Promise.reject(new Error("nothing is watched")),
  };
  const run = (server: string) =>
    runAlone(["install", "--set", "kubeconfig", ...more], { connected: () => transport, server });
  return { ...(await run("https://hub.test")), asked, run };
}

const given = { status: 201, body: JSON.stringify({ status: { token: "t0ken", expirationTimestamp: ENDS } }) };

it("prints a kubeconfig that works in a pod: the hub's server and CA, and a token of the controller's account", async () => {
  const { code, out, err, asked } = await ask(given, "--token-duration", "24h", "--system-namespace", "elsewhere");
  expect({ code, err }).toEqual({ code: 0, err: `its token ends at ${ENDS}: renew the Secret before then\n` });
  const [{ method, path, body } = {}] = asked;
  expect({ method, path }).toEqual({
    method: "POST",
    path: "/api/v1/namespaces/elsewhere/serviceaccounts/lockstep-controller/token",
  });
  expect(JSON.parse(String(body)).spec).toEqual({ expirationSeconds: 86_400 });
  expect(whyNotInPod(out)).toBeUndefined();
  expect(parse(out)).toMatchObject({
    clusters: [
      {
        cluster: {
          server: "https://hub.test",
          "certificate-authority-data": Buffer.from("PEM of the hub's CA").toString("base64"),
        },
      },
    ],
    users: [{ name: "lockstep-controller", user: { token: "t0ken" } }],
  });
});

it("takes the address at which pods find the hub, and refuses one that only this machine has", async () => {
  const server = "https://karmada-apiserver.karmada-system.svc:5443";
  expect(parse((await ask(given, "--hub-server", server)).out).clusters[0].cluster.server).toBe(server);
  const { run } = await ask(given);
  for (const local of ["https://127.0.0.1:6443/", "https://localhost:6443", "https://[::1]:6443"]) {
    const refused = await run(local);
    expect(refused).toMatchObject({ code: 1, out: "" });
    expect(refused.err).toContain("which a pod does not reach: give its address there, such as --hub-server https://");
  }
  expect((await ask(given, "--hub-server", "hub")).err).toContain("'hub' is not a URL");
});

it("says what is missing if there is no token, and writes no file", async () => {
  expect((await ask({ status: 404, body: "{}" })).err).toContain("apply the hub's set first");
  const refused = await ask({ status: 403, body: JSON.stringify({ message: "you may not" }) });
  expect(refused).toMatchObject({ code: 1, out: "" });
  expect(refused.err).toContain("(HTTP 403): you may not");
  expect((await ask({ status: 502, body: "<html>" })).err).toContain("(HTTP 502): it does not say why");
  expect((await ask(given, "--output", "folder")).err).toContain("redirect it to a file");
  expect((await ask(given, "--apply")).err).toContain("redirect it to a file");
});
