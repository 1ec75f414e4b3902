/** As in Kubernetes, unless the probe says otherwise. */
const DEFAULT_FAILURE_THRESHOLD = 3;

/** Whether a container is ready, after each answer to its probe. */
export class Readiness {
  readonly #failureThreshold: number;
  #isReady = false;
  #failures = 0;

  constructor(failureThreshold = DEFAULT_FAILURE_THRESHOLD) {
    this.#failureThreshold = failureThreshold;
  }

  /** One success makes it ready; only so many failures in a row make it unready again. */
  note(isSuccess: boolean): boolean {
    this.#failures = isSuccess ? 0 : this.#failures + 1;
    if (isSuccess) this.#isReady = true;
    else if (this.#failures >= this.#failureThreshold) this.#isReady = false;
    return this.#isReady;
  }
}
