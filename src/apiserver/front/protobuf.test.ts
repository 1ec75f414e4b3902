import { describe, expect, it } from "vitest";
import { decodeProtobuf, ProtobufError } from "./protobuf.ts";
import { MESSAGES } from "./protobuf-messages.ts";

/** A minimal encoder: a field of bytes, of text, or of a number. */
const varint = (value: number): number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(Math.floor(value / 128))];
const bytes = (number: number, content: Buffer): Buffer =>
  Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(content.length)]), content]);
const text = (number: number, value: string) => bytes(number, Buffer.from(value));
const int = (number: number, value: number) => Buffer.from([...varint(number * 8), ...varint(value)]);
const message = (number: number, ...fields: Buffer[]) => bytes(number, Buffer.concat(fields));
const entry = (number: number, key: string, value: Buffer) => message(number, text(1, key), value);
const object = (apiVersion: string, kind: string, ...fields: Buffer[]) =>
  Buffer.concat([Buffer.from("k8s\0"), message(1, text(1, apiVersion), text(2, kind)), message(2, ...fields)]);

describe("decodeProtobuf", () => {
  it("reads texts, maps and base64, and omits empty values that Go writes", () => {
    const metadata = message(
      1,
      text(1, "s"),
      text(2, ""),
      text(3, "default"),
      message(8),
      entry(11, "app", text(2, "web")),
    );
    const body = object(
      "v1",
      "Secret",
      metadata,
      entry(2, "key", bytes(2, Buffer.from([0xff, 0x00]))),
      text(3, "Opaque"),
    );
    expect(decodeProtobuf(body)).toEqual({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "s", namespace: "default", labels: { app: "web" } },
      data: { key: "/wA=" },
      type: "Opaque",
    });
  });

  it("keeps a significant zero: no replicas are not one replica", () => {
    const container = message(2, text(1, "c"), text(2, "i"), message(8, entry(1, "cpu", message(2, text(1, "100m")))));
    const template = message(3, message(1), message(2, container));
    const body = object(
      "apps/v1",
      "Deployment",
      message(2, int(1, 0), template, message(4), int(5, 0)),
      message(3, int(2, 0)),
    );
    expect(decodeProtobuf(body)).toEqual({
      apiVersion: "apps/v1",
      kind: "Deployment",
      spec: {
        replicas: 0,
        template: {
          metadata: {},
          spec: { containers: [{ name: "c", image: "i", resources: { limits: { cpu: "100m" } } }] },
        },
        strategy: {},
      },
    });
  });

  it("reads numbers and names of ports", () => {
    const byNumber = message(1, int(3, 300), message(4, int(1, 0), int(2, 8080)));
    const byName = message(1, int(3, 443), message(4, int(1, 1), int(2, 0), text(3, "https")));
    const body = object("v1", "Service", message(2, byNumber, byName));
    expect(decodeProtobuf(body)).toMatchObject({
      spec: {
        ports: [
          { port: 300, targetPort: 8080 },
          { port: 443, targetPort: "https" },
        ],
      },
    });
  });

  it("reads negative numbers", () => {
    const minusOne = Buffer.from([0x08, ...new Array(9).fill(0xff), 0x01]);
    expect(decodeProtobuf(object("apps/v1", "Deployment", bytes(2, minusOne)))).toMatchObject({
      spec: { replicas: -1 },
    });
  });

  it("refuses what it would have to drop, with a remedy", () => {
    const affinity = object("v1", "Pod", message(2, message(18)));
    expect(() => decodeProtobuf(affinity)).toThrow(/field 18 of PodSpec .*kubectl apply -f -/);
    expect(() => decodeProtobuf(object("v1", "Node"))).toThrow("this server reads Node only as JSON or YAML");
  });

  it.each([
    ["data without the magic bytes", Buffer.from('{"kind":"Secret"}')],
    ["data that is cut off", object("v1", "Secret", text(3, "Opaque")).subarray(0, -3)],
    ["a length beyond the end", Buffer.concat([Buffer.from("k8s\0"), Buffer.from([0x0a, 0x7f])])],
    ["an endless number", Buffer.concat([Buffer.from("k8s\0"), Buffer.alloc(20, 0xff)])],
    ["a number where bytes belong", object("v1", "Secret", int(1, 5))],
    ["text that is not UTF-8", object("v1", "Secret", bytes(3, Buffer.from([0xff])))],
    ["an unknown field type", object("v1", "Secret", Buffer.from([0x0d, 0, 0, 0, 0]))],
  ])("refuses %s", (_, body) => expect(() => decodeProtobuf(body)).toThrow(ProtobufError));

  it("cannot modify inherited properties of objects", () => {
    const body = object("v1", "ConfigMap", entry(2, "__proto__", text(2, "x")));
    expect(Object.keys(decodeProtobuf(body).data as object)).toEqual(["__proto__"]);
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });

  it("defines every message that it refers to", () => {
    const scalars = ["string", "int", "bool", "bytes", "Quantity", "IntOrString", "-"];
    for (const fields of Object.values(MESSAGES)) {
      for (const field of fields.split(", ")) {
        const type = field.split(" ")[2]?.replace(/^(\[\]|\{\}|\*)/, "") ?? "";
        if (!scalars.includes(type)) expect(MESSAGES).toHaveProperty(type);
      }
    }
  });
});
