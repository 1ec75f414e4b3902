// The one real timer of the simulator, captured before anybody can replace it: a turn of the event loop.
const realSetImmediate = setImmediate;

/** Lets everything that is ready run: one turn of the event loop drains promise chains of any length. */
export function drain(): Promise<void> {
  return new Promise((resolve) => {
    realSetImmediate(resolve);
  });
}
