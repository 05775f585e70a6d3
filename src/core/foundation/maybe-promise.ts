/**
 * Values that are available now or later: a read from memory needs no promise, a round trip does. Each `await` of a
 * request costs a tenth of a microsecond and 200 bytes even when there is nothing to wait for.
 */
export type MaybePromise<Value> = Value | Promise<Value>

/** Calls `next` with the value: immediately if it is available, else when it resolves. */
export function andThen<Value, Result>(
  value: MaybePromise<Value>,
  next: (value: Value) => MaybePromise<Result>,
): MaybePromise<Result> {
  return value instanceof Promise ? value.then(next) : next(value)
}
