import { X509Certificate } from "node:crypto";
import { request } from "node:https";
import { afterEach, describe, expect, it } from "vitest";
import { seededRandom, systemClock } from "../../runtime/index.ts";
import { ApiServer } from "../index.ts";
import { authorizerOf } from "./authorization.ts";
import type { KubeconfigContext } from "./kubeconfig.ts";
import { type SecureFront, startSecureFront } from "./secure.ts";

const opened: SecureFront[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((front) => front.close()));
});

async function start(name: string): Promise<SecureFront> {
  const server = new ApiServer({ clock: systemClock, random: seededRandom(1), authorizer: authorizerOf([]) });
  const front = await startSecureFront({ name, server, clock: systemClock });
  opened.push(front);
  return front;
}

function get(
  context: KubeconfigContext,
  path: string,
  accept = "application/json",
): Promise<{ status: number; body: string }> {
  const { server, certificateAuthority, credentials } = context;
  if (!("certificate" in credentials)) throw new Error("this test uses certificates");
  return new Promise((resolve, reject) => {
    const call = request(
      `${server}${path}`,
      {
        ca: certificateAuthority,
        cert: credentials.certificate,
        key: credentials.privateKey,
        agent: false,
        headers: { accept },
      },
      (response) => {
        let body = "";
        response.on("data", (data) => {
          body += data;
          // A watch continues: its first line is enough.
          if (path.includes("watch=1") && body.includes("\n")) resolve({ status: response.statusCode ?? 0, body });
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
      },
    );
    call.on("error", reject);
    call.end();
  });
}

describe("startSecureFront", () => {
  it("serves an administrator: tables and watches", async () => {
    const front = await start("hub");
    const context = await front.context();
    expect(context).toMatchObject({ name: "hub", server: front.url });
    const table = await get(
      context,
      "/api/v1/namespaces",
      "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    );
    expect(JSON.parse(table.body)).toMatchObject({
      kind: "Table",
      columnDefinitions: [{ name: "Name" }, { name: "Status" }, { name: "Age" }],
    });
    const watch = await get(context, "/api/v1/namespaces?watch=1&fieldSelector=metadata.name%3Ddefault");
    expect(JSON.parse(watch.body.split("\n")[0] ?? "")).toMatchObject({
      type: "ADDED",
      object: { metadata: { name: "default" } },
    });
  });

  it("answers a watch from an unknown version with an error event or Status, and ends it", async () => {
    const context = await (await start("hub")).context();
    const watch = await get(context, "/api/v1/namespaces?watch=1&resourceVersion=notanumber");
    expect(watch.status).toBe(400);
    expect(JSON.parse(watch.body)).toMatchObject({ kind: "Status" });
  });

  it("reports to a user without grants what is forbidden", async () => {
    const front = await start("hub");
    const answer = await get(await front.context({ name: "eve", groups: [] }), "/api/v1/namespaces/default/secrets");
    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.body).message).toMatch(/secrets is forbidden: User "eve" cannot list resource "secrets"/);
  });

  it("gives each cluster its own CA: an administrator of one is unknown to another", async () => {
    const [hub, member] = await Promise.all([start("hub"), start("member1")]);
    const stranger = {
      ...(await hub.context()),
      server: member.url,
      certificateAuthority: member.authority.certificate,
    };
    expect((await get(stranger, "/api/v1/namespaces")).status).toBe(401);
  });

  it("signs certificates with their key usage", async () => {
    const front = await start("hub");
    const authority = new X509Certificate(front.authority.certificate);
    const server = new X509Certificate((await front.authority.issueServer(["127.0.0.1", "localhost"])).certificate);
    expect(authority.ca).toBe(true);
    expect(server.ca).toBe(false);
    expect(server.checkIssued(authority) && server.verify(authority.publicKey)).toBe(true);
    expect(server.subjectAltName).toBe("IP Address:127.0.0.1, DNS:localhost");
  });
});
