import type { Block, Expression, GenericFor, NumericFor } from "../ast.ts";
import { BROKE, ENDED, type Exec, type Frame, type Signal } from "../frame.ts";
import { callee } from "../operators.ts";
import { LuaTable } from "../table.ts";
import { type LuaValue, raise } from "../values.ts";
import { type Context, describe, weigh } from "./context.ts";
import { compileExpression, compileList } from "./expressions.ts";
import { declare } from "./statements.ts";

export function compileWhile(context: Context, condition: Expression, body: Block, line: number): Exec {
  const { meter } = context.vm;
  const cost = 1 + weigh(condition);
  const test = compileExpression(context, condition);
  const block = context.block(body);
  return (frame) => {
    for (;;) {
      meter.line = line;
      meter.burn(cost);
      const value = test(frame);
      if (value === undefined || value === false) return ENDED;
      const signal = block(frame);
      if (signal === BROKE) return ENDED;
      if (signal !== ENDED) return signal;
    }
  };
}

export function compileRepeat(context: Context, condition: Expression, body: Block, line: number): Exec {
  const { meter } = context.vm;
  const cost = 1 + weigh(condition);
  const test = compileExpression(context, condition);
  const block = context.block(body);
  return (frame) => {
    for (;;) {
      meter.line = line;
      meter.burn(cost);
      const signal = block(frame);
      if (signal === BROKE) return ENDED;
      if (signal !== ENDED) return signal;
      const value = test(frame);
      if (value !== undefined && value !== false) return ENDED;
    }
  };
}

export function compileNumericFor(context: Context, statement: NumericFor): Exec {
  const { meter } = context.vm;
  const { line } = statement;
  const start = compileExpression(context, statement.start);
  const limit = compileExpression(context, statement.limit);
  const step = statement.step === undefined ? () => 1 : compileExpression(context, statement.step);
  const store = declare(context, statement.variable);
  const block = context.block(statement.body);
  return (frame) => {
    const first = start(frame);
    const last = limit(frame);
    const by = step(frame);
    if (typeof first !== "number") return raise(line, "for statement init must be a number");
    if (typeof by !== "number") return raise(line, "for statement step must be a number");
    if (typeof last !== "number") return raise(line, "for statement limit must be a number");
    // gopher-lua steps back once before the loop, which can change the last digit of fractions.
    for (let i = first - by + by; by > 0 ? i <= last : i >= last; i += by) {
      meter.line = line;
      meter.burn(2);
      store(frame, i);
      const signal = block(frame);
      if (signal === BROKE) return ENDED;
      if (signal !== ENDED) return signal;
    }
    return ENDED;
  };
}

export function compileGenericFor(context: Context, statement: GenericFor): Exec {
  const { vm } = context;
  const { meter } = vm;
  const { line } = statement;
  const list = compileList(context, statement.iterators);
  const [only] = statement.iterators;
  const hint = only === undefined ? "" : describe(only);
  const stores = statement.variables.map((each) => declare(context, each));
  // Each iteration sets all of them.
  const cost = 4 + 2 * stores.length;
  const storeKey = stores[0] ?? (() => {});
  const storeValue = stores[1] ?? (() => {});
  const block = context.block(statement.body);

  const overEntries = (frame: Frame, table: LuaTable, control: LuaValue): Signal => {
    let position = table.entryFrom(table.positionAfter(control));
    while (position >= 0) {
      meter.line = line;
      meter.burn(cost);
      const key = table.keyAt(position);
      storeKey(frame, key);
      storeValue(frame, table.valueAt(position));
      for (let i = 2; i < stores.length; i++) stores[i]?.(frame, undefined);
      const signal = block(frame);
      if (signal === BROKE) return ENDED;
      if (signal !== ENDED) return signal;
      // Read again, because the body may have grown or shrunk the array.
      position = table.entryFrom(table.keyAt(position) === key ? position + 1 : table.positionAfter(key));
    }
    return ENDED;
  };

  const overItems = (frame: Frame, table: LuaTable, control: number): Signal => {
    for (let i = control + 1; ; i++) {
      const value = table.getInt(i);
      if (value === undefined) return ENDED;
      meter.line = line;
      meter.burn(cost);
      storeKey(frame, i);
      storeValue(frame, value);
      for (let at = 2; at < stores.length; at++) stores[at]?.(frame, undefined);
      const signal = block(frame);
      if (signal === BROKE) return ENDED;
      if (signal !== ENDED) return signal;
    }
  };

  return (frame) => {
    const [iterator, state, first] = list(frame);
    const next = callee(iterator, line, hint);
    if (state instanceof LuaTable) {
      if (next === vm.iterators.next) return overEntries(frame, state, first);
      if (next === vm.iterators.ipairsNext && typeof first === "number") return overItems(frame, state, first);
    }
    for (let control: LuaValue = first; ; ) {
      meter.line = line;
      meter.burn(cost);
      const result = next.invoke([state, control]);
      const several = Array.isArray(result);
      control = several ? result[0] : result;
      if (control === undefined) return ENDED;
      storeKey(frame, control);
      for (let at = 1; at < stores.length; at++) stores[at]?.(frame, several ? result[at] : undefined);
      const signal = block(frame);
      if (signal === BROKE) return ENDED;
      if (signal !== ENDED) return signal;
    }
  };
}
