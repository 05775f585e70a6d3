/**
 * Returns the value of a table under a name that may come from outside: every object has a `constructor` that is none of its
 * own.
 */
export function findEntry<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}
