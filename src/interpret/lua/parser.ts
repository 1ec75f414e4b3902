import type { Block, Expression, FunctionNode, Statement, TableField, Target, Variable } from "./ast.ts";
import type { CompileBudget } from "./budget.ts";
import { LuaSyntaxError } from "./errors.ts";
import { checkJumps } from "./jumps.ts";
import { Lexer, type Token } from "./lexer.ts";
import { combine, PRIORITIES, UNARY_PRIORITY } from "./precedence.ts";
import { FunctionScope } from "./scope.ts";

/** Nested blocks, functions, tables and parentheses. The parser and the compiled code recurse this deep. */
const MAX_NESTING = 200;
/** Links of a chain such as a + b + c or a.b.c: each contains the links before it. */
const MAX_CHAIN = 200;

/** The maximum length of a token in an error. */
const SHOWN_CHARACTERS = 80;

const BLOCK_ENDS = new Set(["<eof>", "end", "else", "elseif", "until"]);

/** Parses a script given as bytes. Throws LuaSyntaxError, and LuaLimitError if the budget is exceeded. */
export function parse(source: string, script: string, budget: CompileBudget): FunctionNode {
  return new Parser(source, script, budget).chunk();
}

class Parser {
  readonly #lexer: Lexer;
  readonly #script: string;
  #token: Token;
  #following: Token | undefined;
  #previousLine = 1;
  #nesting = 0;
  readonly #budget: CompileBudget;
  #scope: FunctionScope;

  constructor(source: string, script: string, budget: CompileBudget) {
    this.#script = script;
    this.#budget = budget;
    this.#scope = new FunctionScope(undefined, true, budget);
    this.#lexer = new Lexer(source, script, budget);
    this.#token = this.#lexer.next();
  }

  chunk(): FunctionNode {
    const body = this.#block();
    if (!this.#at("<eof>")) throw this.#unexpected();
    checkJumps(body, this.#script, this.#budget);
    return this.#scope.finish({
      name: "main chunk",
      line: 1,
      parameters: [],
      isVararg: true,
      argTable: undefined,
      upvalues: this.#scope.upvalues,
      slots: 0,
      hasBoxes: false,
      body,
    });
  }

  #block(): Block {
    this.#enter();
    const statements: Statement[] = [];
    while (!(this.#token.kind === "symbol" && BLOCK_ENDS.has(this.#token.text))) {
      if (this.#accept(";")) continue;
      const statement = this.#statement();
      statements.push(statement);
      this.#accept(";");
      if (statement.kind === "return") break;
    }
    this.#leave();
    return statements;
  }

  #scopedBlock(): Block {
    this.#scope.openBlock();
    const body = this.#block();
    this.#scope.closeBlock();
    return body;
  }

  #statement(): Statement {
    const { line } = this.#token;
    if (this.#token.kind !== "symbol") return this.#expressionStatement();
    switch (this.#token.text) {
      case "if":
        return this.#ifStatement();
      case "while": {
        this.#advance();
        const condition = this.#expression();
        return { kind: "while", condition, body: this.#bodyAfterDo(), line };
      }
      case "do": {
        this.#advance();
        const body = this.#scopedBlock();
        this.#close("end", "do", line);
        return { kind: "do", body, line };
      }
      case "for":
        return this.#forStatement();
      case "repeat":
        return this.#repeatStatement();
      case "function":
        return this.#functionStatement();
      case "local":
        return this.#localStatement();
      case "return":
        return this.#returnStatement();
      case "break":
        this.#advance();
        return { kind: "break", line };
      case "goto":
        this.#advance();
        return { kind: "goto", label: this.#name(), line };
      case "::": {
        this.#advance();
        const label = this.#name();
        this.#expect("::");
        return { kind: "label", label, line };
      }
      default:
        return this.#expressionStatement();
    }
  }

  #ifStatement(): Statement {
    const { line } = this.#token;
    const clauses: { condition: Expression; body: Block }[] = [];
    do {
      this.#advance();
      const condition = this.#expression();
      this.#expect("then");
      clauses.push({ condition, body: this.#scopedBlock() });
    } while (this.#at("elseif"));
    const otherwise = this.#accept("else") ? this.#scopedBlock() : undefined;
    this.#close("end", "if", line);
    return { kind: "if", clauses, otherwise, line };
  }

  #repeatStatement(): Statement {
    const { line } = this.#token;
    this.#advance();
    this.#scope.openBlock();
    const body = this.#block();
    this.#close("until", "repeat", line);
    // The condition sees the body's variables.
    const condition = this.#expression();
    this.#scope.closeBlock();
    return { kind: "repeat", body, condition, line };
  }

  #forStatement(): Statement {
    const { line } = this.#token;
    this.#advance();
    const names = [this.#name()];
    if (this.#accept("=")) {
      const start = this.#expression();
      this.#expect(",");
      const limit = this.#expression();
      const step = this.#accept(",") ? this.#expression() : undefined;
      const { variables, body } = this.#loopBody(names, line);
      const [variable] = variables;
      if (variable === undefined) throw this.#unexpected();
      return { kind: "numericFor", variable, start, limit, step, body, line };
    }
    while (this.#accept(",")) names.push(this.#name());
    this.#expect("in");
    const iterators = this.#expressions();
    return { kind: "genericFor", ...this.#loopBody(names, line), iterators, line };
  }

  #loopBody(names: string[], line: number): { variables: Variable[]; body: Block } {
    this.#expect("do");
    this.#scope.openBlock();
    const variables = names.map((name) => this.#scope.declare(name));
    const body = this.#scopedBlock();
    this.#scope.closeBlock();
    this.#close("end", "for", line);
    return { variables, body };
  }

  #bodyAfterDo(): Block {
    const { line } = this.#token;
    this.#expect("do");
    const body = this.#scopedBlock();
    this.#close("end", "do", line);
    return body;
  }

  #functionStatement(): Statement {
    const { line } = this.#token;
    this.#advance();
    let name = this.#name();
    let target: Target = this.#scope.resolve(name, line);
    let isMethod = false;
    for (let links = 0; !isMethod && (this.#at(".") || this.#at(":")); links++) {
      if (links > MAX_CHAIN) throw this.#error("the function's name is too long");
      isMethod = this.#at(":");
      this.#advance();
      name = this.#name();
      target = { kind: "index", base: target, key: { kind: "constant", value: name, line }, line };
    }
    const value = this.#functionBody(name, line, isMethod);
    return { kind: "assign", targets: [target], values: [{ kind: "function", value, line }], line };
  }

  #localStatement(): Statement {
    const { line } = this.#token;
    this.#advance();
    if (this.#accept("function")) {
      const name = this.#name();
      const variable = this.#scope.declare(name);
      return { kind: "localFunction", variable, value: this.#functionBody(name, line, false), line };
    }
    const names = [this.#name()];
    while (this.#accept(",")) names.push(this.#name());
    const values = this.#accept("=") ? this.#expressions() : [];
    return { kind: "local", variables: names.map((name) => this.#scope.declare(name)), values, line };
  }

  #returnStatement(): Statement {
    const { line } = this.#token;
    this.#advance();
    const ends = this.#at(";") || (this.#token.kind === "symbol" && BLOCK_ENDS.has(this.#token.text));
    const values = ends ? [] : this.#expressions();
    this.#accept(";");
    if (!(this.#token.kind === "symbol" && BLOCK_ENDS.has(this.#token.text))) throw this.#unexpected();
    return { kind: "return", values, line };
  }

  #expressionStatement(): Statement {
    const { line } = this.#token;
    const first = this.#suffixed();
    if (this.#at("=") || this.#at(",")) {
      const targets = [this.#targetOf(first)];
      while (this.#accept(",")) targets.push(this.#targetOf(this.#suffixed()));
      this.#expect("=");
      return { kind: "assign", targets, values: this.#expressions(), line };
    }
    if (first.kind !== "functionCall" && first.kind !== "methodCall") throw this.#unexpected();
    return { kind: "call", call: first, line };
  }

  #targetOf(expression: Expression): Target {
    switch (expression.kind) {
      case "variable":
      case "upvalue":
      case "global":
      case "index":
        return expression;
      default:
        throw this.#error("cannot assign to this expression");
    }
  }

  #expressions(): Expression[] {
    const list = [this.#expression()];
    while (this.#accept(",")) list.push(this.#expression());
    return list;
  }

  #expression(priority = 0): Expression {
    this.#enter();
    let left = this.#unary();
    for (let links = 0; ; links++) {
      if (links > MAX_CHAIN) throw this.#error("the expression is too long");
      const { line } = this.#token;
      const operator = this.#token.kind === "symbol" ? this.#token.text : "";
      const [leftPriority, rightPriority] = PRIORITIES[operator] ?? [0, 0];
      if (leftPriority <= priority) break;
      this.#advance();
      left = combine(operator, left, this.#expression(rightPriority), line);
    }
    this.#leave();
    return left;
  }

  #unary(): Expression {
    const { line } = this.#token;
    const kind = this.#at("not") ? "not" : this.#at("-") ? "negate" : this.#at("#") ? "length" : undefined;
    if (kind === undefined) return this.#simple();
    this.#advance();
    const operand = this.#expression(UNARY_PRIORITY);
    if (kind === "negate" && operand.kind === "constant" && typeof operand.value === "number") {
      return { kind: "constant", value: -operand.value, line };
    }
    return { kind, operand, line };
  }

  #simple(): Expression {
    const token = this.#token;
    const { line } = token;
    if (token.kind === "number") return this.#constant(token.value);
    if (token.kind === "string") return this.#constant(token.text);
    if (token.kind === "name") return this.#suffixed();
    switch (token.text) {
      case "nil":
        return this.#constant(undefined);
      case "true":
        return this.#constant(true);
      case "false":
        return this.#constant(false);
      case "...":
        if (!this.#scope.isVararg) throw this.#error("cannot use '...' outside a vararg function");
        this.#scope.usesVarargs = true;
        this.#advance();
        return { kind: "vararg", line };
      case "{":
        return this.#table();
      case "function":
        this.#advance();
        return { kind: "function", value: this.#functionBody("?", line, false), line };
      default:
        return this.#suffixed();
    }
  }

  #constant(value: undefined | boolean | number | string): Expression {
    const { line } = this.#token;
    this.#advance();
    return { kind: "constant", value, line };
  }

  /** A name or an expression in parentheses, and its suffixes: fields, indices and calls. */
  #suffixed(): Expression {
    let base = this.#primary();
    for (let links = 0; ; links++) {
      if (links > MAX_CHAIN) throw this.#error("the expression is too long");
      const { line } = this.#token;
      if (this.#accept(".")) {
        base = { kind: "index", base, key: { kind: "constant", value: this.#name(), line }, line };
      } else if (this.#accept("[")) {
        const key = this.#expression();
        this.#expect("]");
        base = { kind: "index", base, key, line };
      } else if (this.#accept(":")) {
        const method = this.#name();
        base = { kind: "methodCall", object: base, method, args: this.#args(), line };
      } else if (this.#at("(") || this.#at("{") || this.#token.kind === "string") {
        base = { kind: "functionCall", callee: base, args: this.#args(), line };
      } else return base;
    }
  }

  #primary(): Expression {
    const token = this.#token;
    if (token.kind === "name") {
      this.#advance();
      return this.#scope.resolve(token.text, token.line);
    }
    if (!this.#accept("(")) throw this.#unexpected();
    const value = this.#expression();
    this.#close(")", "(", token.line);
    return { kind: "parentheses", value, line: token.line };
  }

  #args(): Expression[] {
    const token = this.#token;
    if (token.kind === "string") return [this.#constant(token.text)];
    if (this.#at("{")) return [this.#table()];
    if (this.#at("(") && token.line !== this.#previousLine && this.#previousWasParenthesis) {
      throw this.#error("ambiguous syntax (function call x new statement)");
    }
    this.#expect("(");
    if (this.#accept(")")) return [];
    const args = this.#expressions();
    this.#close(")", "(", token.line);
    return args;
  }

  #table(): Expression {
    const { line } = this.#token;
    this.#enter();
    this.#expect("{");
    const fields: TableField[] = [];
    while (!this.#at("}")) {
      fields.push(this.#field());
      if (!this.#accept(",") && !this.#accept(";")) break;
    }
    this.#close("}", "{", line);
    this.#leave();
    return { kind: "table", fields, line };
  }

  #field(): TableField {
    const { line } = this.#token;
    if (this.#accept("[")) {
      const key = this.#expression();
      this.#expect("]");
      this.#expect("=");
      return { kind: "entry", key, value: this.#expression() };
    }
    if (this.#token.kind === "name" && this.#peek().text === "=" && this.#peek().kind === "symbol") {
      const key: Expression = { kind: "constant", value: this.#name(), line };
      this.#expect("=");
      return { kind: "entry", key, value: this.#expression() };
    }
    return { kind: "item", value: this.#expression() };
  }

  #functionBody(name: string, line: number, isMethod: boolean): FunctionNode {
    this.#enter();
    const outer = this.#scope;
    this.#expect("(");
    const names: string[] = isMethod ? ["self"] : [];
    let isVararg = false;
    while (!this.#at(")")) {
      if (this.#accept("...")) {
        isVararg = true;
        break;
      }
      names.push(this.#name());
      if (!this.#accept(",")) break;
    }
    this.#expect(")");
    this.#scope = new FunctionScope(outer, isVararg, this.#budget);
    const parameters = names.map((each) => this.#scope.declare(each));
    const argTable = isVararg ? this.#scope.declare("arg") : undefined;
    const body = this.#block();
    this.#close("end", "function", line);
    checkJumps(body, this.#script, this.#budget);
    const { upvalues } = this.#scope;
    const node = { name, line, parameters, isVararg, argTable, upvalues, slots: 0, hasBoxes: false, body };
    const finished = this.#scope.finish(node);
    this.#scope = outer;
    this.#leave();
    return finished;
  }

  #name(): string {
    if (this.#token.kind !== "name") throw this.#unexpected("a name");
    const { text } = this.#token;
    this.#advance();
    return text;
  }

  #at(symbol: string): boolean {
    return this.#token.kind === "symbol" && this.#token.text === symbol;
  }

  #accept(symbol: string): boolean {
    if (!this.#at(symbol)) return false;
    this.#advance();
    return true;
  }

  #expect(symbol: string): void {
    if (!this.#accept(symbol)) throw this.#unexpected(`'${symbol}'`);
  }

  #close(symbol: string, opened: string, line: number): void {
    if (this.#accept(symbol)) return;
    throw this.#unexpected(
      line === this.#token.line ? `'${symbol}'` : `'${symbol}' to close '${opened}' at line ${line}`,
    );
  }

  #previousWasParenthesis = false;

  #advance(): void {
    this.#previousLine = this.#token.line;
    this.#previousWasParenthesis = this.#at(")");
    this.#token = this.#following ?? this.#lexer.next();
    this.#following = undefined;
  }

  #peek(): Token {
    this.#following ??= this.#lexer.next();
    return this.#following;
  }

  #enter(): void {
    if (++this.#nesting > MAX_NESTING) throw this.#error("the script nests too deeply");
  }

  #leave(): void {
    this.#nesting--;
  }

  #unexpected(expected?: string): LuaSyntaxError {
    const wanted = expected === undefined ? "" : `, expected ${expected}`;
    return this.#error(`syntax error near '${this.#token.text.slice(0, SHOWN_CHARACTERS)}'${wanted}`);
  }

  #error(reason: string): LuaSyntaxError {
    return new LuaSyntaxError(this.#script, this.#token.line, reason);
  }
}
