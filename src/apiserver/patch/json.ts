import jsonPatch, { type Operation } from "fast-json-patch";
import { clone, isJsonObject, type Json } from "../../runtime/index.ts";
import { badRequest, StatusError } from "../status.ts";

/** More operations than any client sends; each may copy the whole object. */
const OPERATIONS = 10_000;

const OPERATION_NAMES = ["add", "remove", "replace", "move", "copy", "test"];

/** RFC 6902, on a copy. Copies inside the document may not add up to more than `copyBytes`: a few could fill memory. */
export function applyJsonPatch(original: Json, patch: Json, copyBytes: number): Json {
  if (!Array.isArray(patch)) {
    throw badRequest("error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch");
  }
  if (patch.length > OPERATIONS) {
    throw new StatusError(
      413,
      "RequestEntityTooLarge",
      `The allowed maximum operations in a JSON patch is ${OPERATIONS}, got ${patch.length}`,
    );
  }
  let document: Json = clone(original);
  let copied = 0;
  for (const operation of patch) {
    if (!isJsonObject(operation)) throw badRequest("error decoding patch: an operation must be an object");
    const { op, path, from, value } = operation;
    if (typeof op !== "string" || !OPERATION_NAMES.includes(op)) {
      throw badRequest(`Unexpected kind: ${typeof op === "string" ? op : "unknown"}`);
    }
    if (typeof path !== "string" || ((op === "move" || op === "copy") && typeof from !== "string")) {
      throw badRequest(`the JSON patch operation ${JSON.stringify(op)} lacks a path`);
    }
    try {
      if (op === "copy" && typeof from === "string") {
        copied += JSON.stringify(jsonPatch.getValueByPointer(document, from))?.length ?? 0;
      }
      if (copied > copyBytes)
        throw badRequest(`the copies of a JSON patch may not add up to more than ${copyBytes} bytes`);
      const step = { op, path, from, value } as Operation;
      document = jsonPatch.applyOperation(document, step, true, true, true).newDocument as Json;
    } catch (error) {
      throw failed(op, path, error);
    }
  }
  return document;
}

function failed(op: string, path: string, error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  const code = error instanceof jsonPatch.JsonPatchError ? error.name : "";
  if (op === "test" && code === "TEST_OPERATION_FAILED") {
    return unprocessable(`testing value ${path} failed: test failed`);
  }
  return unprocessable(`${op} operation does not apply: doc is missing path: ${JSON.stringify(path)}: missing value`);
}

function unprocessable(why: string): StatusError {
  return new StatusError(422, "Invalid", `the server rejected our request due to an error in our request: ${why}`, {
    causes: [{ reason: "UnexpectedServerResponse", message: why }],
  });
}
