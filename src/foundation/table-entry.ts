/**
 * Returns the value of a table under a name that may come from outside: every object has a `constructor` that is none of its
 * own.
 */
export function findEntry<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}

/** Returns the names of a table, which has at least one entry. */
export function tableNames<Name extends string>(table: Readonly<Record<Name, unknown>>): [Name, ...Name[]] {
  return Object.keys(table) as [Name, ...Name[]]
}
