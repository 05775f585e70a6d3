/** Resolves after other ready work has had its turn: long work awaits it between its pieces. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
