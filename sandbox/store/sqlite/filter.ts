/** The conditions of a list, gathered one by one: what a query leaves open is no condition. */
export interface Filter {
  add(condition: string, ...values: readonly (string | number | null | undefined)[]): void
  /** The text after WHERE. */
  where(): string
  readonly values: readonly (string | number)[]
}

/** A filter that lets everything through. A condition is added only when every value of it is there. */
export function createFilter(): Filter {
  const conditions: string[] = []
  const values: (string | number)[] = []
  return {
    add(condition, ...wanted) {
      const present = wanted.filter((value) => value !== undefined && value !== null)
      if (present.length < wanted.length) return
      conditions.push(condition)
      values.push(...present)
    },
    where: () => (conditions.length === 0 ? '1' : conditions.join(' AND ')),
    values,
  }
}
