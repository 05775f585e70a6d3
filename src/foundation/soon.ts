/**
 * Values that are there at once or come later: what is read from memory needs no promise, what takes a round trip does. Each
 * `await` of a request costs a tenth of a microsecond and 200 bytes also where there is nothing to wait for.
 */
export type Soon<Value> = Value | Promise<Value>

/** Calls `next` with the value: at once when it is there, else when it comes. */
export function andThen<Value, Result>(value: Soon<Value>, next: (value: Value) => Soon<Result>): Soon<Result> {
  return value instanceof Promise ? value.then(next) : next(value)
}
