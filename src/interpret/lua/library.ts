import { Arguments, functionsOf, tableOf } from "./lib/arguments.ts";
import { baseLibrary, ipairsNext } from "./lib/base.ts";
import { kubeLibrary } from "./lib/kube.ts";
import { MATH_CONSTANTS, mathLibrary } from "./lib/math.ts";
import { osLibrary } from "./lib/os.ts";
import { stringLibrary } from "./lib/string.ts";
import { tableLibrary } from "./lib/table.ts";
import { LuaTable } from "./table.ts";
import { firstOf, LuaFunction, type LuaValue, raise } from "./values.ts";
import type { Vm } from "./vm.ts";

const LUA_VERSION = "Lua 5.1";

/**
 * Everything that a script has when it starts. The tables are created once per script; every call works on copies, so
 * that a script's changes to them end with the call.
 */
export class Library {
  readonly #vm: Vm;
  readonly #globals: LuaTable;
  readonly #libraries: { name: string; place: number; template: LuaTable }[];
  readonly #kube: LuaTable;
  readonly #ownPlace: number;
  readonly #packagePlace: number;
  readonly #needsPackage: boolean;

  constructor(vm: Vm, source: string) {
    this.#vm = vm;
    const base = functionsOf(vm, baseLibrary(vm));
    vm.iterators = {
      next: base.next,
      ipairsNext: functionsOf(vm, { ipairs: ipairsNext }).ipairs,
    };
    const require = new LuaFunction("require", (args) => this.#require(args));
    this.#globals = tableOf(vm, { ...base, require, _VERSION: LUA_VERSION });
    vm.globals = this.#globals;
    const templates = {
      table: tableOf(vm, functionsOf(vm, tableLibrary(vm))),
      string: tableOf(vm, functionsOf(vm, stringLibrary(vm))),
      math: tableOf(vm, { ...functionsOf(vm, mathLibrary(vm)), ...MATH_CONSTANTS }),
      os: tableOf(vm, functionsOf(vm, osLibrary(vm))),
    };
    this.#libraries = Object.entries(templates).map(([name, template]) => ({
      name,
      place: this.#globals.placeOf(name),
      template,
    }));
    this.#kube = tableOf(vm, functionsOf(vm, kubeLibrary(vm)));
    this.#ownPlace = this.#globals.placeOf("_G");
    this.#packagePlace = this.#globals.placeOf("package");
    // Only these two names refer to the table of loaded modules, which hardly any script uses.
    this.#needsPackage = source.includes("package") || source.includes("_G");
  }

  /** Gives the Vm fresh copies of everything. */
  install(): void {
    const vm = this.#vm;
    const globals = this.#globals.copyFor(vm.meter);
    for (const { name, place, template } of this.#libraries) {
      const copy = template.copyFor(vm.meter);
      globals.values[place] = copy;
      if (name === "string") vm.strings = copy;
    }
    globals.values[this.#ownPlace] = globals;
    vm.globals = globals;
    if (this.#needsPackage) globals.values[this.#packagePlace] = this.#packageTable(globals);
  }

  /** Removes everything that a call has created from the Vm. */
  uninstall(): void {
    const strings = this.#libraries.find(({ name }) => name === "string")?.template ?? this.#globals;
    this.#vm.forget(this.#globals, strings);
  }

  #packageTable(globals: LuaTable): LuaTable {
    const vm = this.#vm;
    const loaded = tableOf(vm, { _G: globals });
    for (const { name, place } of this.#libraries) loaded.set(name, globals.values[place]);
    const check = new Arguments(vm, "loadlib");
    return tableOf(vm, {
      loadlib: new LuaFunction("loadlib", () => check.raise("loadlib is not supported")),
      preload: tableOf(vm, { kube: new LuaFunction("kube", () => this.#kube.copyFor(vm.meter)) }),
      loaded,
    });
  }

  #require(args: LuaValue[]): LuaValue {
    const vm = this.#vm;
    const name = new Arguments(vm, "require").string(args, 1);
    const packages = vm.globals.getString("package");
    const loaded = packages instanceof LuaTable ? packages.getString("loaded") : undefined;
    const known = loaded instanceof LuaTable ? loaded.get(name) : this.#loadedByName(name);
    if (known !== undefined && known !== false) return known;
    const preload = packages instanceof LuaTable ? packages.getString("preload") : undefined;
    const loader = preload instanceof LuaTable ? preload.get(name) : undefined;
    if (!(loader instanceof LuaFunction)) {
      return raise(vm.meter.line, `module ${name} not found:\n\tno field package.preload['${name}'], `);
    }
    const module = firstOf(vm.call(loader, [name])) ?? true;
    if (loaded instanceof LuaTable) loaded.set(name, module);
    return module;
  }

  #loadedByName(name: string): LuaValue {
    if (name === "kube") {
      this.#vm.loadedKube ??= this.#kube.copyFor(this.#vm.meter);
      return this.#vm.loadedKube;
    }
    const library = this.#libraries.find((each) => each.name === name);
    return library === undefined ? undefined : this.#vm.globals.values[library.place];
  }
}
