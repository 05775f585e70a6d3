import type { ExchangeRow } from './store.ts'

const maxForeignExchanges = 100

/** The newest exchanges of foreign pages, in the memory of the process that refused them, and their number. */
interface ForeignExchanges {
  append(row: ExchangeRow): void
  readonly rows: readonly ExchangeRow[]
  readonly count: number
  clear(): void
}

export function createForeignExchanges(): ForeignExchanges {
  let rows: ExchangeRow[] = []
  let count = 0
  return {
    append(row) {
      count++
      rows.unshift(row)
      if (rows.length > maxForeignExchanges) rows.pop()
    },
    get rows() {
      return rows
    },
    get count() {
      return count
    },
    clear() {
      rows = []
      count = 0
    },
  }
}
