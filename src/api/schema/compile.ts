import type { JsonObject } from "../../runtime/index.ts";
import { applyDefaults } from "./defaults.ts";
import { isTooDeep } from "./json.ts";
import { parseSchema } from "./parse.ts";
import { pruneObject } from "./prune.ts";
import { checkRules, compileRules } from "./rules.ts";
import { checkStructural } from "./structural.ts";
import type { CompiledSchema, FieldError, FieldErrorKind } from "./types.ts";
import { checkUniqueness, checkValue } from "./values.ts";
import { wording } from "./wording.ts";

/** If one of these is wrong, rules would only repeat the error or fail on a value of the wrong type. */
const BLOCKS_RULES: readonly FieldErrorKind[] = ["NotSupported", "Required", "TooLong", "TooMany", "TypeInvalid"];

/** Reads a CRD version's `schema.openAPIV3Schema`. Throws SchemaError. */
export function compileSchema(openAPIV3Schema: JsonObject): CompiledSchema {
  const root = parseSchema(openAPIV3Schema);
  checkStructural(root);
  const rules = compileRules(root);
  return {
    prune: (value, known) => pruneObject(root, value, known),
    // Recursion follows the schema, whose depth is limited.
    applyDefaults: (value, known) => applyDefaults(root, value, known),
    validate(value, old): FieldError[] {
      // The comparison with the old value goes no deeper than the new value.
      if (isTooDeep(value)) {
        return [wording.invalidWhole("", "the object is nested too deeply")];
      }
      const errors = checkUniqueness(root, value, "", old, checkValue(root, value, "", old, []));
      if (rules === undefined) return errors;
      if (errors.some((error) => BLOCKS_RULES.includes(error.kind))) {
        const skipped =
          "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
        return [...errors, wording.invalid("", null, skipped)];
      }
      return [...errors, ...checkRules(rules, value, old)];
    },
  };
}
