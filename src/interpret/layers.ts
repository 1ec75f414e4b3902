/** The order of sources: the user's leader rule, customizations, webhooks, bundled Lua, native code. */
import { type Clock, type JsonObject, LruMap } from "../runtime/index.ts";
import { type CustomizationScript, compileScript } from "./customization.ts";
import { BundledCustomizations, Customizations } from "./customizations.ts";
import { gvkOf, kindKey, presentAt } from "./fields.ts";
import { luaOperation } from "./lua-operations.ts";
import { leaderAt, nativeHandler, nativeHandlers } from "./native/index.ts";
import type { Handler, Handlers, Inputs, LeaderRule, Operation, Results } from "./operations.ts";
import { failureOf, type Layer, noInterpreter, type Settled } from "./outcome.ts";
import type { ObjectReport } from "./problem.ts";
import { ScriptRests } from "./rests.ts";
import { sortedDependencies } from "./results.ts";
import type { ServiceResolver, Webhook } from "./webhook/configuration.ts";
import { guessResource, type ResourceMapper } from "./webhook/matching.ts";
import { Webhooks } from "./webhook/webhooks.ts";

/** Users write leader rules, one for each application. */
const COMPILED_RULES = 1_000;
/**
 * The limit for all of them together: the minimum weight of a compiled script, and the weight of each compilation step.
 */
const COMPILED_RULES_BYTES = 128 * 1024 * 1024;
const SCRIPT_BYTES = 80 * 1024;
const SCRIPT_STEP_BYTES = 300;

export interface LayersOptions {
  readonly clock: Clock;
  readonly bundled: readonly JsonObject[];
  readonly resources: ResourceMapper | undefined;
  readonly resolveService: ServiceResolver;
}

/** Every source except a webhook answers at once. `version` changes if and only if answers may change. */
export type Source<O extends Operation> =
  | {
      layer: Exclude<Layer, "webhook">;
      version: string;
      answer: (input: Inputs[O]) => Settled<O>;
      /** How long the source is suspended; 0 if it may answer now. */
      restMs: () => number;
    }
  | { layer: "webhook"; version: string; webhook: Webhook };

type Combined = { readonly [O in Operation]?: (answers: Results[O][]) => Results[O] };
/** Several customizations may name dependencies of one kind; for every other operation, only the first is used. */
const COMBINED: Combined = { InterpretDependency: (answers) => sortedDependencies(answers.flat()) };

export class Layers {
  readonly #options: LayersOptions;
  readonly #native: ReadonlyMap<string, Handlers>;
  readonly #rules = new LruMap<string, CustomizationScript>(COMPILED_RULES, COMPILED_RULES_BYTES);
  readonly #rests: ScriptRests;
  readonly #bundled: BundledCustomizations;
  readonly customizations = new Customizations();
  readonly webhooks: Webhooks;

  constructor(options: LayersOptions) {
    this.#options = options;
    this.#rests = new ScriptRests(options.clock);
    this.#bundled = new BundledCustomizations(options.bundled);
    this.#native = nativeHandlers(() => options.clock.now());
    this.webhooks = new Webhooks(options.resolveService, () => options.clock.now());
  }

  reports(): ObjectReport[] {
    return [...this.customizations.reports(), ...this.webhooks.reports()];
  }

  /** The sources that answer, in order: one, or a webhook and the fallback of its failure policy. */
  sources<O extends Operation>(operation: O, input: Inputs[O]): Source<O>[] {
    const custom =
      this.#ruleSource(operation, input) ?? this.#scriptSource(operation, input, this.customizations, "customization");
    if (custom !== undefined) return [custom];
    const below =
      this.#scriptSource(operation, input, this.#bundled, "bundled") ?? this.#nativeSource(operation, input);
    const lowest = below === undefined ? [] : [below];
    const webhook = this.#findWebhook(operation, input.object);
    return webhook === undefined ? lowest : [{ layer: "webhook", version: webhook.version, webhook }, ...lowest];
  }

  #ruleSource<O extends Operation>(operation: O, input: Inputs[O]): Source<O> | undefined {
    if (!("rule" in input) || input.rule === undefined) return undefined;
    const { rule } = input;
    if ("luaScript" in rule) {
      const script = this.#compiledRule(rule.luaScript);
      return {
        layer: "rule",
        version: script.version,
        answer: (each) => this.#run(operation, each, [script], "rule"),
        restMs: () => ("script" in script ? this.#rests.restMs(script.script) : 0),
      };
    }
    const handlers: Handlers = { InterpretLeader: ({ object }) => leaderAt(object, rule.fieldPath) };
    const handler: Handler<O> | undefined = handlers[operation];
    if (handler === undefined) return undefined;
    const answer = answering(handler, "rule", ruleName(rule));
    return { layer: "rule", version: rule.fieldPath, answer, restMs: () => 0 };
  }

  #compiledRule(text: string): CustomizationScript {
    const known = this.#rules.get(text);
    if (known !== undefined) return known;
    const script = compileScript(text, "InterpretLeader", "spec.leader.luaScript");
    const steps = "script" in script ? script.script.size : 0;
    this.#rules.set(text, script, SCRIPT_BYTES + SCRIPT_STEP_BYTES * steps + 2 * text.length);
    if ("script" in script) this.#rests.compiled(script.script);
    return script;
  }

  #scriptSource<O extends Operation>(
    operation: O,
    input: Inputs[O],
    customizations: Pick<Customizations, "scripts">,
    layer: "customization" | "bundled",
  ): Source<O> | undefined {
    const target = kindKey(String(input.object.apiVersion), String(input.object.kind));
    const scripts = customizations.scripts(target, operation);
    if (scripts.length === 0) return undefined;
    const version = scripts.map((script) => script.version).join();
    return {
      layer,
      version,
      answer: (each) => this.#run(operation, each, scripts, layer),
      // Cluster administrators write these. Each call is limited, and revising a large object takes time.
      restMs: () => 0,
    };
  }

  #run<O extends Operation>(
    operation: O,
    input: Inputs[O],
    scripts: readonly CustomizationScript[],
    layer: "rule" | "customization" | "bundled",
  ): Settled<O> {
    const rule = luaOperation(operation);
    if (rule === undefined) return noInterpreter(operation, input.object);
    const answers: Results[O][] = [];
    for (const script of scripts) {
      if ("broken" in script) {
        const { source, broken, line } = script;
        const reason = `${layer} ${source}: ${line === undefined ? "" : `line ${line}: `}${broken}`;
        return {
          state: "failed",
          code: "BadCustomization",
          reason,
          layer,
          source,
          ...(line !== undefined && { line }),
        };
      }
      try {
        answers.push(rule.run(script.script, input, this.#options.clock));
      } catch (error) {
        return failureOf(error, layer, script.source);
      } finally {
        if (layer === "rule") this.#rests.called(script.script);
      }
    }
    const combine: ((answers: Results[O][]) => Results[O]) | undefined = COMBINED[operation];
    const value = combine === undefined ? answers[0] : combine(answers);
    if (value === undefined) return noInterpreter(operation, input.object);
    return { state: "known", value, layer, source: scripts.map(({ source }) => source).join(", ") };
  }

  #findWebhook(operation: Operation, object: JsonObject): Webhook | undefined {
    if (this.webhooks.inForce.length === 0) return undefined;
    const gvk = gvkOf(object);
    const resource = this.#options.resources?.(gvk) ?? {
      resource: guessResource(gvk.kind),
      namespaced: presentAt(object, "metadata", "namespace") !== undefined,
    };
    return this.webhooks.find(operation, { ...gvk, ...resource });
  }

  #nativeSource<O extends Operation>(operation: O, input: Inputs[O]): Source<O> | undefined {
    const handler = nativeHandler(this.#native, gvkOf(input.object), operation);
    return (
      handler && { layer: "native", version: "", answer: answering(handler, "native", undefined), restMs: () => 0 }
    );
  }
}

function answering<O extends Operation>(handler: Handler<O>, layer: "rule" | "native", source: string | undefined) {
  return (input: Inputs[O]): Settled<O> => {
    try {
      return { state: "known", value: handler(input), layer, ...(source !== undefined && { source }) };
    } catch (error) {
      return failureOf(error, layer, source);
    }
  };
}

function ruleName(rule: LeaderRule): string {
  return "fieldPath" in rule ? `spec.leader.fieldPath ${rule.fieldPath}` : "spec.leader.luaScript";
}
