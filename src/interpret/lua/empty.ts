import { isJsonObject, type Json } from "../../runtime/index.ts";

const SEPARATOR = "\0";

/**
 * Lua has one empty table where JSON has {} and []. The references show which of them a field is: found as {} in any of
 * them it is an object, found as [] an array, and a field that no reference has empty is left out. Fields are compared
 * by their path without array positions. The references are read only when the first empty table is met.
 */
export class EmptyFields {
  private readonly references: readonly Json[];
  private forms: Map<string, "object" | "array"> | undefined;

  constructor(references: readonly Json[]) {
    this.references = references;
  }

  formOf(path: readonly string[]): Json | undefined {
    this.forms ??= this.read();
    switch (this.forms.get(path.join(SEPARATOR))) {
      case "object":
        return {};
      case "array":
        return [];
      default:
        return undefined;
    }
  }

  private read(): Map<string, "object" | "array"> {
    const forms = new Map<string, "object" | "array">();
    const pending: { value: Json; path: string }[] = this.references.map((value) => ({ value, path: "" }));
    for (let item = pending.pop(); item !== undefined; item = pending.pop()) {
      const { value, path } = item;
      if (Array.isArray(value)) {
        if (value.length === 0 && !forms.has(path)) forms.set(path, "array");
        for (const each of value) pending.push({ value: each, path });
      } else if (isJsonObject(value)) {
        const names = Object.keys(value);
        if (names.length === 0) forms.set(path, "object");
        for (const name of names) {
          const child = value[name];
          const childPath = path === "" ? name : `${path}${SEPARATOR}${name}`;
          if (typeof child === "object" && child !== null) pending.push({ value: child, path: childPath });
        }
      }
    }
    return forms;
  }
}
