import type { Block, Expression, Statement, Target, Variable } from "../ast.ts";
import { BROKE, ENDED, type Exec, type Frame, JUMPED, RETURNED, TAIL_CALL } from "../frame.ts";
import { BOX_BYTES } from "../meter.ts";
import { setIndex } from "../operators.ts";
import type { LuaValue } from "../values.ts";
import { compileInvocation, compileTail } from "./calls.ts";
import { type Context, descend, describe, weigh, weighAll, weighFunction } from "./context.ts";
import { compileExpression, compileFunction, compileList, compileNameStore, compileSpread } from "./expressions.ts";
import { compileGenericFor, compileNumericFor, compileRepeat, compileWhile } from "./loops.ts";

/** Compiles a block. It charges for all its statements on entry, so that single operations need not count. */
export function compileBlock(context: Context, block: Block): Exec {
  descend(context);
  const exec = compileStatements(context, block);
  context.depth--;
  return exec;
}

function compileStatements(context: Context, block: Block): Exec {
  const { meter } = context.vm;
  const cost = 1 + block.reduce((sum, statement) => sum + weighStatement(statement), 0);
  const line = block[0]?.line ?? 0;
  const statements = block.map((statement) => compileStatement(context, statement));
  const pay = (): void => {
    meter.fuel -= cost;
    if (meter.fuel < 0) {
      if (line > 0) meter.line = line;
      meter.outOfFuel();
    }
  };
  const labels = new Map(block.flatMap((each, at) => (each.kind === "label" ? [[each.label, at] as const] : [])));
  if (labels.size > 0) return withLabels(context, statements, labels, pay);
  const [first, second] = statements;
  if (first === undefined) {
    return () => {
      pay();
      return ENDED;
    };
  }
  if (second === undefined) {
    return (frame) => {
      pay();
      return first(frame);
    };
  }
  return (frame) => {
    pay();
    for (const statement of statements) {
      const signal = statement(frame);
      if (signal !== ENDED) return signal;
    }
    return ENDED;
  };
}

function withLabels(context: Context, statements: Exec[], labels: Map<string, number>, pay: () => void): Exec {
  const { vm } = context;
  return (frame) => {
    pay();
    for (let at = 0; at < statements.length; at++) {
      const signal = statements[at]?.(frame) ?? ENDED;
      if (signal === ENDED) continue;
      const target = signal === JUMPED ? labels.get(vm.label) : undefined;
      if (target === undefined) return signal;
      pay();
      at = target;
    }
    return ENDED;
  };
}

function weighStatement(statement: Statement): number {
  switch (statement.kind) {
    case "local":
      return 2 * statement.variables.length + weighAll(statement.values);
    case "localFunction":
      return weighFunction(statement.value);
    case "assign":
      return 1 + weighAll(statement.targets) + weighAll(statement.values);
    case "call":
      return weigh(statement.call);
    case "return":
      return 1 + weighAll(statement.values);
    case "if":
      return statement.clauses.reduce((sum, clause) => sum + weigh(clause.condition), 1);
    case "numericFor":
      return (
        2 + weigh(statement.start) + weigh(statement.limit) + (statement.step === undefined ? 0 : weigh(statement.step))
      );
    case "genericFor":
      return 2 + weighAll(statement.iterators);
    default:
      return 1;
  }
}

function compileStatement(context: Context, statement: Statement): Exec {
  switch (statement.kind) {
    case "local":
      return compileLocal(context, statement.variables, statement.values);
    case "localFunction": {
      const store = declare(context, statement.variable);
      const make = compileFunction(context, statement.value);
      const assign = compileNameStore(context.vm, { kind: "variable", variable: statement.variable, line: 0 });
      return (frame) => {
        // Declared first: the function may call itself.
        store(frame, undefined);
        assign(frame, make(frame));
        return ENDED;
      };
    }
    case "assign":
      return compileAssign(context, statement.targets, statement.values);
    case "call": {
      const invoke = compileInvocation(context, statement.call);
      return (frame) => {
        invoke(frame);
        return ENDED;
      };
    }
    case "do":
      return context.block(statement.body);
    case "while":
      return compileWhile(context, statement.condition, statement.body, statement.line);
    case "repeat":
      return compileRepeat(context, statement.condition, statement.body, statement.line);
    case "if":
      return compileIf(context, statement.clauses, statement.otherwise);
    case "numericFor":
      return compileNumericFor(context, statement);
    case "genericFor":
      return compileGenericFor(context, statement);
    case "return":
      return compileReturn(context, statement.values);
    case "break":
      return () => BROKE;
    case "goto": {
      const { vm } = context;
      const { label } = statement;
      return () => {
        vm.label = label;
        return JUMPED;
      };
    }
    case "label":
      return () => ENDED;
  }
}

/** How a declaration stores a value in its variable: each time it runs, a captured variable gets a new box. */
export function declare(context: Context, variable: Variable): (frame: Frame, value: LuaValue) => void {
  const { slot, captured } = variable;
  if (captured) {
    const { meter } = context.vm;
    return (frame, value) => {
      meter.allocate(BOX_BYTES);
      frame.boxes[slot] = { value };
    };
  }
  return (frame, value) => {
    frame.locals[slot] = value;
  };
}

function compileLocal(context: Context, variables: Variable[], values: Expression[]): Exec {
  const stores = variables.map((each) => declare(context, each));
  const [store] = stores;
  if (store !== undefined && stores.length === 1 && values.length <= 1) {
    const value = values[0] === undefined ? () => undefined : compileExpression(context, values[0]);
    return (frame) => {
      store(frame, value(frame));
      return ENDED;
    };
  }
  const list = compileList(context, values);
  return (frame) => {
    const results = list(frame);
    stores.forEach((each, at) => {
      each(frame, results[at]);
    });
    return ENDED;
  };
}

type Store = (frame: Frame, value: LuaValue) => void;

function compileAssign(context: Context, targets: Target[], values: Expression[]): Exec {
  const [target] = targets;
  const [only] = values;
  if (target !== undefined && only !== undefined && targets.length === 1 && values.length === 1) {
    return compileSingleAssign(context, target, only);
  }
  const prepared = targets.map((each) => prepareTarget(context, each));
  const list = compileList(context, values);
  return (frame) => {
    const stores = prepared.map((prepare) => prepare(frame));
    const results = list(frame);
    for (let i = stores.length - 1; i >= 0; i--) stores[i]?.(frame, results[i]);
    return ENDED;
  };
}

function compileSingleAssign(context: Context, target: Target, expression: Expression): Exec {
  const value = compileExpression(context, expression);
  if (target.kind !== "index") {
    const store = compileNameStore(context.vm, target);
    return (frame) => {
      store(frame, value(frame));
      return ENDED;
    };
  }
  const { vm } = context;
  const { line } = target;
  const base = compileExpression(context, target.base);
  const key = compileExpression(context, target.key);
  const hint = describe(target.base);
  return (frame) => {
    const table = base(frame);
    const at = key(frame);
    setIndex(vm, table, at, value(frame), line, hint);
    return ENDED;
  };
}

/** Evaluates table and key of a target before any of the values, and assigns after all of them. */
function prepareTarget(context: Context, target: Target): (frame: Frame) => Store {
  if (target.kind !== "index") {
    const store = compileNameStore(context.vm, target);
    return () => store;
  }
  const { vm } = context;
  const { line } = target;
  const base = compileExpression(context, target.base);
  const key = compileExpression(context, target.key);
  const hint = describe(target.base);
  return (frame) => {
    const table = base(frame);
    const at = key(frame);
    return (_frame, value) => setIndex(vm, table, at, value, line, hint);
  };
}

function compileIf(
  context: Context,
  clauses: { condition: Expression; body: Block }[],
  otherwise: Block | undefined,
): Exec {
  const nothing: Exec = () => ENDED;
  const otherwiseBody = otherwise === undefined ? nothing : context.block(otherwise);
  const compiled = clauses.map((clause) => ({
    condition: compileExpression(context, clause.condition),
    body: context.block(clause.body),
  }));
  const [first] = compiled;
  if (first !== undefined && compiled.length === 1) {
    const { condition, body } = first;
    return (frame) => {
      const value = condition(frame);
      return value === undefined || value === false ? otherwiseBody(frame) : body(frame);
    };
  }
  return (frame) => {
    for (const { condition, body } of compiled) {
      const value = condition(frame);
      if (value !== undefined && value !== false) return body(frame);
    }
    return otherwiseBody(frame);
  };
}

function compileReturn(context: Context, values: Expression[]): Exec {
  const { vm } = context;
  const [first] = values;
  if (first !== undefined && values.length === 1) {
    if (first.kind === "functionCall" || first.kind === "methodCall") {
      const prepare = compileTail(context, first);
      const { line } = first;
      return (frame) => {
        const call = prepare(frame);
        vm.meter.line = line;
        vm.tailCallee = call.value;
        vm.tailArgs = call.values;
        return TAIL_CALL;
      };
    }
    if (compileSpread(context, first) === undefined) {
      const value = compileExpression(context, first);
      return (frame) => {
        vm.returned = value(frame);
        return RETURNED;
      };
    }
  }
  const list = compileList(context, values);
  return (frame) => {
    vm.returned = list(frame);
    return RETURNED;
  };
}
