// The simulator's only real timers, captured before any code can replace them.
const realSetImmediate = setImmediate;
const realNextTick = process.nextTick;

/** How often the event loop gets its turn, which costs a system call: for other code in this process. */
const TURN_EVERY = 200;
let drains = 0;

/** Runs everything that is ready: promise chains of any length come before the next tick, and before the next turn. */
export function drain(): Promise<void> {
  const isTurn = ++drains % TURN_EVERY === 0;
  return new Promise((resolve) => {
    if (isTurn) realSetImmediate(resolve);
    else realNextTick(resolve);
  });
}
