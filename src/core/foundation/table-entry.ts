/**
 * Returns the value of a table under a name that may come from outside: every object has a `constructor` that is none of its
 * own.
 */
export function findEntry<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}

/** Whether a text is the name of an entry of a table. */
export function isTableName<Name extends string>(table: Readonly<Record<Name, unknown>>, name: string): name is Name {
  return Object.hasOwn(table, name)
}

/** Whether a value is one of a list. */
export function isListed<Value>(values: readonly Value[], value: unknown): value is Value {
  return values.includes(value as Value)
}

/** Returns a table with the same names and other values. */
export function mapTable<Name extends string, Value, Other>(
  table: Readonly<Record<Name, Value>>,
  map: (value: Value, name: Name) => Other,
): Record<Name, Other> {
  return buildTable(tableNames(table), (name) => map(table[name], name))
}

/** Returns a table of these names. */
export function buildTable<Name extends string, Value>(
  names: readonly Name[],
  build: (name: Name) => Value,
): Record<Name, Value> {
  return Object.fromEntries(names.map((name) => [name, build(name)])) as Record<Name, Value>
}

/** Returns the names of a table, which has at least one entry. */
export function tableNames<Name extends string>(table: Readonly<Record<Name, unknown>>): [Name, ...Name[]] {
  return Object.keys(table) as [Name, ...Name[]]
}
