/**
 * Every suite has a form for CI, of at most five minutes, and a long one (`npm run test:NAME:long`). What only the long
 * form has is not registered in the other: a skipped test would be counted as one that could not run.
 */
export const isLongForm = process.env.LOCKSTEP_LONG === "1";
