import type { Json, JsonObject } from "../../runtime/index.ts";
import { MESSAGES } from "./protobuf-messages.ts";

/** The format of kubectl 1.32 and later for the kinds it knows; all other clients use JSON. */
export const PROTOBUF_TYPE = "application/vnd.kubernetes.protobuf";

/** Thrown for a protobuf body this server does not read. */
export class ProtobufError extends Error {
  override readonly name = "ProtobufError";
}

/** Every Kubernetes object in protobuf starts with this, then a runtime.Unknown. */
const MAGIC = Buffer.from("k8s\0");

/** Converts an object in protobuf to JSON. */
export function decodeProtobuf(body: Buffer): JsonObject {
  if (!body.subarray(0, MAGIC.length).equals(MAGIC))
    throw new ProtobufError("the body is not a Kubernetes protobuf object");
  let apiVersion = "";
  let kind = "";
  let raw: Buffer = Buffer.alloc(0);
  for (const { number, value } of fieldsOf(body.subarray(MAGIC.length))) {
    if (number === 1) {
      for (const part of fieldsOf(bytesOf(value))) {
        if (part.number === 1) apiVersion = textOf(part.value);
        if (part.number === 2) kind = textOf(part.value);
      }
    } else if (number === 2) raw = bytesOf(value);
  }
  if (MESSAGES[kind] === undefined) {
    throw new ProtobufError(`this server reads ${kind || "objects without a kind"} only as JSON or YAML`);
  }
  return { apiVersion, kind, ...message(kind, raw) };
}

type WireValue = bigint | Buffer;

interface FieldType {
  readonly name: string;
  readonly form: "one" | "list" | "map" | "ignored";
  readonly type: string;
  /** A zero is a value and not "absent". */
  readonly keepsZero: boolean;
}

function fieldType(messageName: string, number: number): FieldType {
  const line = MESSAGES[messageName]?.split(", ").find((each) => each.startsWith(`${number} `));
  if (line === undefined) {
    throw new ProtobufError(
      `this server does not read field ${number} of ${messageName} in protobuf; ` +
        "send the object as JSON or YAML (kubectl create ... --dry-run=client -o yaml | kubectl apply -f -)",
    );
  }
  const [, name = "", type = ""] = line.split(" ");
  if (type === "-") return { name, form: "ignored", type, keepsZero: false };
  if (type.startsWith("[]")) return { name, form: "list", type: type.slice(2), keepsZero: true };
  if (type.startsWith("{}")) return { name, form: "map", type: type.slice(2), keepsZero: true };
  return { name, form: "one", type: type.replace("*", ""), keepsZero: type.startsWith("*") };
}

function message(name: string, bytes: Buffer): JsonObject {
  const result = new Map<string, Json>();
  const lists = new Map<string, Json[]>();
  const maps = new Map<string, Map<string, Json>>();
  for (const { number, value } of fieldsOf(bytes)) {
    const field = fieldType(name, number);
    if (field.form === "ignored") continue;
    if (field.form === "list") {
      lists.set(field.name, [...(lists.get(field.name) ?? []), decode(field.type, value)]);
    } else if (field.form === "map") {
      const entries = maps.get(field.name) ?? new Map<string, Json>();
      const [key, entry] = mapEntry(field.type, bytesOf(value));
      maps.set(field.name, entries.set(key, entry));
    } else {
      const decoded = decode(field.type, value);
      // Go writes every field that is not a pointer, even if it is empty.
      if (field.keepsZero || (decoded !== "" && decoded !== 0 && decoded !== false)) result.set(field.name, decoded);
    }
  }
  for (const [field, items] of lists) result.set(field, items);
  for (const [field, entries] of maps) result.set(field, Object.fromEntries(entries));
  return Object.fromEntries(result);
}

function mapEntry(type: string, bytes: Buffer): [string, Json] {
  let key = "";
  let entry: Json | undefined;
  for (const { number, value } of fieldsOf(bytes)) {
    if (number === 1) key = textOf(value);
    if (number === 2) entry = decode(type, value);
  }
  return [key, entry ?? ""];
}

function decode(type: string, value: WireValue): Json {
  switch (type) {
    case "string":
      return textOf(value);
    case "bytes":
      return bytesOf(value).toString("base64");
    case "int":
      return numberOf(value);
    case "bool":
      return numberOf(value) !== 0;
    case "Quantity":
      return quantity(bytesOf(value));
    case "IntOrString":
      return intOrString(bytesOf(value));
    default:
      return message(type, bytesOf(value));
  }
}

function quantity(bytes: Buffer): string {
  for (const { number, value } of fieldsOf(bytes)) if (number === 1) return textOf(value);
  return "0";
}

function intOrString(bytes: Buffer): string | number {
  let isText = false;
  let number = 0;
  let text = "";
  for (const field of fieldsOf(bytes)) {
    if (field.number === 1) isText = numberOf(field.value) === 1;
    if (field.number === 2) number = numberOf(field.value);
    if (field.number === 3) text = textOf(field.value);
  }
  return isText ? text : number;
}

function* fieldsOf(bytes: Buffer): Generator<{ number: number; value: WireValue }> {
  let offset = 0;
  const varint = (): bigint => {
    let result = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[offset];
      if (byte === undefined) break;
      offset += 1;
      result |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, result);
    }
    throw new ProtobufError("the protobuf body is cut off or malformed");
  };
  while (offset < bytes.length) {
    const tag = Number(varint());
    const wireType = tag & 7;
    if (wireType === 0) {
      yield { number: tag >>> 3, value: varint() };
    } else if (wireType === 2) {
      const length = Number(varint());
      if (length < 0 || offset + length > bytes.length)
        throw new ProtobufError("the protobuf body is cut off or malformed");
      offset += length;
      yield { number: tag >>> 3, value: bytes.subarray(offset - length, offset) };
    } else {
      throw new ProtobufError("the protobuf body is malformed: Kubernetes has no such field type");
    }
  }
}

function bytesOf(value: WireValue): Buffer {
  if (typeof value === "bigint") throw new ProtobufError("the protobuf body is malformed: a number where bytes belong");
  return value;
}

function numberOf(value: WireValue): number {
  if (typeof value !== "bigint")
    throw new ProtobufError("the protobuf body is malformed: bytes where a number belongs");
  return Number(value);
}

function textOf(value: WireValue): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytesOf(value));
  } catch (error) {
    if (error instanceof ProtobufError) throw error;
    throw new ProtobufError("the protobuf body is malformed: text that is not UTF-8");
  }
}
