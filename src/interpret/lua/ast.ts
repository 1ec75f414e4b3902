/** A parsed script. Names are resolved while parsing: every expression refers to its variable. */

/** A local variable. Each has its own slot in the frame of its function. */
export interface Variable {
  readonly name: string;
  readonly slot: number;
  /** An inner function uses it: it lives in a box that both share. */
  captured: boolean;
}

/** Where a function finds a variable of an outer function when it is created. */
export type UpvalueSource = { from: "box"; slot: number } | { from: "upvalue"; index: number };

export interface FunctionNode {
  readonly name: string;
  readonly line: number;
  readonly parameters: Variable[];
  readonly isVararg: boolean;
  /** gopher-lua's compatibility: a vararg function without `...` in its body gets its arguments in `arg`. */
  argTable: Variable | undefined;
  readonly upvalues: UpvalueSource[];
  slots: number;
  /** Some variable of it is captured. */
  hasBoxes: boolean;
  readonly body: Block;
}

export type Block = Statement[];

interface At {
  readonly line: number;
}

export type Statement =
  | (At & { kind: "local"; variables: Variable[]; values: Expression[] })
  | (At & { kind: "localFunction"; variable: Variable; value: FunctionNode })
  | (At & { kind: "assign"; targets: Target[]; values: Expression[] })
  | (At & { kind: "call"; call: Call })
  | (At & { kind: "do"; body: Block })
  | (At & { kind: "while"; condition: Expression; body: Block })
  | (At & { kind: "repeat"; body: Block; condition: Expression })
  | (At & { kind: "if"; clauses: { condition: Expression; body: Block }[]; otherwise: Block | undefined })
  | NumericFor
  | GenericFor
  | (At & { kind: "return"; values: Expression[] })
  | (At & { kind: "break" })
  | (At & { kind: "goto"; label: string })
  | (At & { kind: "label"; label: string });

export interface NumericFor extends At {
  readonly kind: "numericFor";
  readonly variable: Variable;
  readonly start: Expression;
  readonly limit: Expression;
  readonly step: Expression | undefined;
  readonly body: Block;
}

export interface GenericFor extends At {
  readonly kind: "genericFor";
  readonly variables: Variable[];
  readonly iterators: Expression[];
  readonly body: Block;
}

export type Name =
  | (At & { kind: "variable"; variable: Variable })
  | (At & { kind: "upvalue"; index: number; name: string })
  | (At & { kind: "global"; name: string });

export interface Index extends At {
  readonly kind: "index";
  readonly base: Expression;
  readonly key: Expression;
}

export type Target = Name | Index;

export type Call =
  | (At & { kind: "functionCall"; callee: Expression; args: Expression[] })
  | (At & { kind: "methodCall"; object: Expression; method: string; args: Expression[] });

export type ArithmeticOperator = "+" | "-" | "*" | "/" | "%" | "^";
export type ComparisonOperator = "==" | "~=" | "<" | "<=" | ">" | ">=";

export type TableField = { kind: "item"; value: Expression } | { kind: "entry"; key: Expression; value: Expression };

export type Expression =
  | Target
  | Call
  | (At & { kind: "constant"; value: undefined | boolean | number | string })
  | (At & { kind: "vararg" })
  | (At & { kind: "function"; value: FunctionNode })
  | (At & { kind: "table"; fields: TableField[] })
  | (At & { kind: "parentheses"; value: Expression })
  | (At & { kind: "arithmetic"; operator: ArithmeticOperator; left: Expression; right: Expression })
  | (At & { kind: "comparison"; operator: ComparisonOperator; left: Expression; right: Expression })
  | (At & { kind: "concat"; parts: Expression[] })
  | (At & { kind: "and" | "or"; left: Expression; right: Expression })
  | (At & { kind: "not" | "negate" | "length"; operand: Expression });
