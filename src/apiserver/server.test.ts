import { describe, expect, it } from "vitest";
import { TestServer } from "./testing/client.ts";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const SETS = "/apis/apps/v1/namespaces/default/statefulsets";

const configMap = (name: string, data: Record<string, string> = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data,
});

const statefulSet = (name: string, replicas = 3) => ({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { name },
  spec: {
    replicas,
    serviceName: name,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "db", image: "db:1" }] } },
  },
});

describe("creating objects", () => {
  it("gives identity, version, time and generation", async () => {
    const server = new TestServer();
    const created = await server.create(SETS, statefulSet("db"));
    expect(created.metadata).toMatchObject({
      name: "db",
      namespace: "default",
      generation: 1,
      creationTimestamp: "2030-01-01T00:00:00Z",
    });
    expect(created.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(await server.read(`${SETS}/db`)).toEqual(created);
  });
});

export { configMap, CONFIG_MAPS };
