import {
  applyPatch,
  isJsonObject,
  type Json,
  LIMITS,
  PatchBudget,
  PatchError,
  type PatchOperation,
} from "../../runtime/index.ts";
import { badRequest, StatusError } from "../request/status.ts";

/** RFC 6902, on a copy. It may add at most `addedBytes`: a few copies of copies could fill memory. */
export function applyJsonPatch(original: Json, patch: Json, addedBytes: number): Json {
  if (!Array.isArray(patch)) {
    throw badRequest("error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch");
  }
  if (patch.length > LIMITS.patchOperations) {
    throw new StatusError(
      413,
      "RequestEntityTooLarge",
      `The allowed maximum operations in a JSON patch is ${LIMITS.patchOperations}, got ${patch.length}`,
    );
  }
  try {
    return applyPatch(original, patch.map(operationOf), new PatchBudget(LIMITS.patchOperations, addedBytes));
  } catch (error) {
    throw error instanceof PatchError ? failed(error) : error;
  }
}

function operationOf(operation: Json): PatchOperation {
  if (!isJsonObject(operation)) throw badRequest("error decoding patch: an operation must be an object");
  const { op, path, from, value = null } = operation;
  switch (op) {
    case "add":
    case "replace":
    case "test":
      if (typeof path === "string") return { op, path, value };
      break;
    case "remove":
      if (typeof path === "string") return { op, path };
      break;
    case "move":
    case "copy":
      if (typeof path === "string" && typeof from === "string") return { op, path, from };
      break;
    default:
      throw badRequest(`Unexpected kind: ${typeof op === "string" ? op : "unknown"}`);
  }
  throw badRequest(`the JSON patch operation ${JSON.stringify(op)} lacks a path`);
}

function failed({ operation, path, reason, code }: PatchError): StatusError {
  switch (code) {
    case "TooLarge":
      return badRequest(`the JSON patch is too large: ${reason}`);
    case "TestFailed":
      return unprocessable(`testing value ${path} failed: test failed`);
    case "NotApplicable":
      return unprocessable(
        `${operation} operation does not apply: doc is missing path: ${JSON.stringify(path)}: missing value`,
      );
  }
}

function unprocessable(why: string): StatusError {
  return new StatusError(422, "Invalid", `the server rejected our request due to an error in our request: ${why}`, {
    causes: [{ reason: "UnexpectedServerResponse", message: why }],
  });
}
