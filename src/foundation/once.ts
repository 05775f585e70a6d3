/** Returns a function that calls `make` when it is first called, and returns the same value from then on. */
export function once<Value extends {}>(make: () => Value): () => Value {
  let value: Value | undefined
  return () => (value ??= make())
}
