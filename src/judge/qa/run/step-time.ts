/** The time that a step may take. */
export class StepTime {
  /** Aborted when the time is up. */
  readonly signal: AbortSignal
  /** When the time is up, on the clock of performance.now(). */
  ends_at_ms = Infinity
  readonly #limit_ms: number
  readonly #isUp = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined

  /** Begins at once. */
  constructor(limit_ms: number) {
    this.#limit_ms = limit_ms
    this.signal = this.#isUp.signal
    this.#begin()
  }

  /**
   * Does work of svc's own, such as opening a page in the browser, which says nothing about what is tested: the time begins
   * again after it. Such work has a limit of its own.
   */
  async after<Value>(work: () => Promise<Value>): Promise<Value> {
    this.end()
    const value = await work()
    this.#begin()
    return value
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  #begin(): void {
    const isUp = () => this.#isUp.abort(new Error(`It took longer than ${this.#limit_ms} ms`))
    this.ends_at_ms = performance.now() + this.#limit_ms
    this.#timer = setTimeout(isUp, this.#limit_ms)
  }
}
