import { beforeEach, describe, expect, it } from "vitest";
import type { KubeObject } from "../../kube/index.ts";
import { FakeApi } from "../../kube/testing/fake-api.ts";
import { seededRandom, silentLog } from "../../runtime/index.ts";
import { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { type AccessPoint, MemberAccesses } from "./access.ts";

const SERVER = "https://east.example:6443";
const encoded = (text: string) => Buffer.from(text).toString("base64");

function secret(data: Readonly<Record<string, string>>, name = "access"): KubeObject {
  const entries = Object.entries(data).map(([key, value]) => [key, encoded(value)]);
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace: "east" }, data: Object.fromEntries(entries) };
}

let told: string[];
let opened: AccessPoint[];
let closed: string[];
let accesses: MemberAccesses;

beforeEach(() => {
  told = [];
  opened = [];
  closed = [];
  const clock = new VirtualClock();
  accesses = new MemberAccesses({
    clusterOf: (namespace) => namespace,
    clock,
    random: seededRandom(1),
    log: silentLog,
    async open(point) {
      opened.push(point);
      return { transport: new FakeApi({ clock }), close: async () => void closed.push(point.token) };
    },
    opened: (cluster) => told.push(`${cluster} opened`),
    closed: (cluster) => told.push(`${cluster} closed`),
  });
});

describe("a Secret that gives access to a cluster", () => {
  it("opens the cluster of its namespace, with its server, authority and token", async () => {
    await accesses.read(secret({ server: SERVER, "ca.crt": "PEM", token: "t1\n" }));
    expect(opened).toEqual([{ server: SERVER, ca: "PEM", token: "t1" }]);
    expect(accesses.client("east")).toBeDefined();
    expect(accesses.client("west")).toBeUndefined();
    expect(told).toEqual(["east opened"]);
  });

  it("opens nothing without a token, or where the token would travel in the open", async () => {
    await accesses.read(secret({ server: SERVER }));
    await accesses.read(secret({ server: "http://east.example", token: "t1" }));
    expect(opened).toEqual([]);
    expect(accesses.client("east")).toBeUndefined();
  });

  it("is used again when its token is renewed, and left alone when it says the same", async () => {
    await accesses.read(secret({ server: SERVER, token: "t1" }));
    await accesses.read(secret({ server: SERVER, token: "t1" }));
    expect(opened).toHaveLength(1);
    await accesses.read(secret({ server: SERVER, token: "t2" }));
    expect(opened.map(({ token }) => token)).toEqual(["t1", "t2"]);
    expect(closed).toEqual(["t1"]);
    expect(told).toEqual(["east opened", "east closed", "east opened"]);
  });

  it("ends the access when it is deleted or loses what it needs; another Secret of the namespace changes nothing", async () => {
    await accesses.read(secret({ server: SERVER, token: "t1" }));
    await accesses.read(secret({ server: SERVER, token: "t9" }, "other"));
    await accesses.forget(secret({}, "other"));
    expect(accesses.client("east")).toBeDefined();
    await accesses.read(secret({ server: SERVER }));
    expect(accesses.client("east")).toBeUndefined();
    expect(closed).toEqual(["t1"]);
    expect(() => accesses.mustClient("east")).toThrow("no Secret gives access to cluster east");
  });
});
