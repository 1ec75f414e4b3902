import { parse } from "yaml";
import { isKubeObject, UnknownKindError } from "../../../kube/index.ts";
import { isJsonObject } from "../../../runtime/index.ts";
import { apiPath, checkOperator, type Finding, MemberClient, RULES } from "../../../sdk/index.ts";
import { CommandError } from "../../errors.ts";
import { withHub } from "../../hub/hub.ts";
import type { GlobalOptions } from "../../options.ts";
import { durationOption } from "../../terminal/duration-option.ts";
import type { Io } from "../../terminal/io.ts";
import { print } from "../../terminal/output.ts";
import type { ConformanceArguments } from "./command.ts";

/** Returns the exit code. */
export function runConformance(io: Io, options: ConformanceArguments & GlobalOptions): Promise<number> {
  const file = options.filename ?? "";
  const object: unknown = parse(io.readFile(file));
  if (!isKubeObject(object)) throw new CommandError(`${file} is not an object with apiVersion, kind and metadata.name`);
  const { replicas: _any, ...spec } = isJsonObject(object.spec) ? object.spec : {};
  const stepMs = durationOption("--step-timeout", options.stepTimeout);
  const quietMs = durationOption("--quiet", options.quiet);
  return withHub(io, options, async ({ client, transport, clock, namespace, context }) => {
    const kind = await client.discovery.resource(object.apiVersion, object.kind).catch((error: unknown) => {
      if (!(error instanceof UnknownKindError)) throw error;
      throw new CommandError(
        `${context} does not know the kind ${object.kind} of ${object.apiVersion}; is it a member with the operator? Choose one with --context`,
      );
    });
    const { name } = object.metadata;
    const where = object.metadata.namespace ?? namespace;
    const path = `${apiPath(kind.apiVersion, kind.plural, where)}/${name}`;
    if (await new MemberClient(transport).get(path)) {
      throw new CommandError(
        `${object.kind} ${where}/${name} exists in ${context}; give the object in ${file} another name, because it is deleted at the end`,
      );
    }
    print(io, `checking the operator of ${object.kind} in ${context}, with ${where}/${name}`);
    const told = (finding: Finding) => print(io, line(finding));
    const findings = await checkOperator(
      { transport, clock, kind, namespace: where, name, spec, addressTemplate: options.address, stepMs, quietMs },
      told,
    );
    const broken = findings.filter((finding) => finding.broken !== undefined);
    for (const rule of new Set(broken.map((finding) => finding.rule))) print(io, `\n${rule}: ${RULES[rule]}`);
    print(io, `\n${findings.length - broken.length} passed, ${broken.length} failed`);
    if (broken.length > 0) print(io, "docs/member-contract.md explains the rules.");
    return broken.length > 0 ? 1 : 0;
  });
}

function line({ rule, check, broken }: Finding): string {
  return broken === undefined ? `ok    ${rule}  ${check}` : `FAIL  ${rule}  ${check}: ${broken}`;
}
