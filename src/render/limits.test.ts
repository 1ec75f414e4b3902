import { describe, expect, it } from "vitest";
import type { JsonObject } from "../runtime/index.ts";
import { LimitError } from "./errors.ts";
import { CONFIG_MAX_BYTES, checkLimits, OBJECT_MAX_BYTES } from "./limits.ts";

const configMap = (change: JsonObject): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "c", namespace: "shop" },
  ...change,
});

describe("an object that Kubernetes would refuse is refused before it is written", () => {
  it.each<[string, JsonObject, RegExp]>([
    [
      "annotations",
      configMap({ metadata: { name: "c", annotations: { big: "x".repeat(262144) } } }),
      /metadata\.annotations has 262147 bytes, and at most 261120 are allowed; shorten the largest, big/,
    ],
    ["a ConfigMap's data", configMap({ data: { k: "x".repeat(CONFIG_MAX_BYTES + 1) } }), /data has 1048577 bytes/],
    [
      "a Secret's decoded data",
      { ...configMap({ data: { k: Buffer.alloc(CONFIG_MAX_BYTES + 1).toString("base64") } }), kind: "Secret" },
      /data has 1048577 bytes/,
    ],
    [
      "a whole object",
      { ...configMap({ spec: { text: "x".repeat(OBJECT_MAX_BYTES) } }), kind: "XlineCluster" },
      /XlineCluster shop\/c: the whole object/,
    ],
    [
      "a label's length",
      configMap({ metadata: { name: "c", labels: { a: "x".repeat(64) } } }),
      /label a has 64 characters/,
    ],
    [
      "a label's value",
      configMap({ metadata: { name: "c", labels: { a: "no spaces" } } }),
      /label a has the value 'no spaces'/,
    ],
    ["a name", configMap({ metadata: { name: "Upper" } }), /'Upper' is not a valid name/],
    ["a name's length", configMap({ metadata: { name: "n".repeat(254) } }), /metadata\.name has 254 characters/],
    [
      "a Service's name",
      { apiVersion: "v1", kind: "Service", metadata: { name: "s".repeat(64) } },
      /has 64 characters/,
    ],
    [
      "a Service's first character",
      { apiVersion: "v1", kind: "Service", metadata: { name: "1a" } },
      /not a valid name/,
    ],
  ])("because of %s", (_what, object, message) => {
    expect(() => checkLimits(object)).toThrow(LimitError);
    expect(() => checkLimits(object)).toThrow(message);
  });

  it("counts bytes, not characters", () => {
    const object = configMap({ metadata: { name: "c", annotations: { k: "ü".repeat(131072) } } });
    expect(() => checkLimits(object)).toThrow(LimitError);
  });

  it("accepts what just fits", () => {
    checkLimits(configMap({ data: { k: "x".repeat(CONFIG_MAX_BYTES) } }));
    checkLimits(configMap({ metadata: { name: "c", annotations: { big: "x".repeat(261117) } } }));
  });

  it("leaves room for the annotations that an engine adds", () => {
    const object = configMap({ metadata: { name: "c", annotations: { big: "x".repeat(261118) } } });
    expect(() => checkLimits(object)).toThrow(LimitError);
  });
});
