import { ANSWERS } from "./answers.ts";
import type { Mutant } from "./bend.ts";
import { COUNTING } from "./counting.ts";
import { GATES } from "./gates.ts";
import { LIFE } from "./life.ts";
import { MEMBERSHIP } from "./membership.ts";
import { ORDER } from "./order.ts";

export const MUTANTS: readonly Mutant[] = [...GATES, ...COUNTING, ...MEMBERSHIP, ...ORDER, ...LIFE, ...ANSWERS];
