import { ADOPTION } from "./adoption.ts";
import { AGENTS } from "./agents.ts";
import { JOINS } from "./joins.ts";
import { LEADERS } from "./leaders.ts";
import { LOSSES } from "./losses.ts";
import { REMOVAL } from "./removal.ts";
import type { Story } from "./story.ts";
import { UPDATES } from "./updates.ts";

export const STORIES: readonly Story[] = [
  ...LEADERS,
  ...UPDATES,
  ...JOINS,
  ...REMOVAL,
  ...LOSSES,
  ...ADOPTION,
  ...AGENTS,
];
