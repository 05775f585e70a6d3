/** Resolves when other work that is ready has had its turn: long work awaits it between its pieces. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
