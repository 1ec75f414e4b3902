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
 * Everything a script finds when it starts. The tables are made once per script; every call works on copies, so that
 * nothing a script changes in them outlives the call.
 */
export class Library {
  private readonly vm: Vm;
  private readonly globals: LuaTable;
  private readonly libraries: { name: string; place: number; template: LuaTable }[];
  private readonly kube: LuaTable;
  private readonly ownPlace: number;
  private readonly packagePlace: number;
  private readonly needsPackage: boolean;

  constructor(vm: Vm, source: string) {
    this.vm = vm;
    const base = functionsOf(vm, baseLibrary(vm));
    vm.iterators = {
      next: base.next,
      ipairsNext: functionsOf(vm, { ipairs: ipairsNext }).ipairs,
    };
    const require = new LuaFunction("require", (args) => this.require(args));
    this.globals = tableOf(vm, { ...base, require, _VERSION: LUA_VERSION });
    vm.globals = this.globals;
    const templates = {
      table: tableOf(vm, functionsOf(vm, tableLibrary(vm))),
      string: tableOf(vm, functionsOf(vm, stringLibrary(vm))),
      math: tableOf(vm, { ...functionsOf(vm, mathLibrary(vm)), ...MATH_CONSTANTS }),
      os: tableOf(vm, functionsOf(vm, osLibrary(vm))),
    };
    this.libraries = Object.entries(templates).map(([name, template]) => ({
      name,
      place: this.globals.placeOf(name),
      template,
    }));
    this.kube = tableOf(vm, functionsOf(vm, kubeLibrary(vm)));
    this.ownPlace = this.globals.placeOf("_G");
    this.packagePlace = this.globals.placeOf("package");
    // Only these two names lead to the table of loaded modules, which hardly any script wants to see.
    this.needsPackage = source.includes("package") || source.includes("_G");
  }

  /** Gives the Vm fresh copies of everything. */
  install(): void {
    const { vm } = this;
    const globals = this.globals.copyFor(vm.meter);
    for (const { name, place, template } of this.libraries) {
      const copy = template.copyFor(vm.meter);
      globals.values[place] = copy;
      if (name === "string") vm.strings = copy;
    }
    globals.values[this.ownPlace] = globals;
    vm.globals = globals;
    vm.loadedKube = undefined;
    if (this.needsPackage) globals.values[this.packagePlace] = this.packageTable(globals);
  }

  private packageTable(globals: LuaTable): LuaTable {
    const { vm } = this;
    const loaded = tableOf(vm, { _G: globals });
    for (const { name, place } of this.libraries) loaded.set(name, globals.values[place]);
    const check = new Arguments(vm, "loadlib");
    return tableOf(vm, {
      loadlib: new LuaFunction("loadlib", () => check.raise("loadlib is not supported")),
      preload: tableOf(vm, { kube: new LuaFunction("kube", () => this.kube.copyFor(vm.meter)) }),
      loaded,
    });
  }

  private require(args: LuaValue[]): LuaValue {
    const { vm } = this;
    const name = new Arguments(vm, "require").string(args, 1);
    const packages = vm.globals.getString("package");
    const loaded = packages instanceof LuaTable ? packages.getString("loaded") : undefined;
    const known = loaded instanceof LuaTable ? loaded.get(name) : this.loadedByName(name);
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

  private loadedByName(name: string): LuaValue {
    if (name === "kube") {
      this.vm.loadedKube ??= this.kube.copyFor(this.vm.meter);
      return this.vm.loadedKube;
    }
    const library = this.libraries.find((each) => each.name === name);
    return library === undefined ? undefined : this.vm.globals.values[library.place];
  }
}
