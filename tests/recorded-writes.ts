/** The writes of the store on a transaction that records them: what each write needs, reads and changes, without a database. */

import { type WriteMethods, writeMethods } from '#store/writes/index.ts'
import type { Transaction } from '#store/writes/transaction.ts'

type Changes = [method: string, ...values: unknown[]][]

interface Recorded<Result> {
  result: Result
  /** The rows that the write named. */
  needs: object
  /** The calls that change something, in their order. */
  changes: Changes
}

/** What the reads of a transaction without rows return. */
const nothing: Partial<Transaction> = {
  countFills: () => 0,
  hasFillWithin: () => false,
  projectOfSlot: () => 1,
  newestConsent: () => null,
  findProject: () => null,
  findKey: () => null,
  findClock: () => null,
  findFaults: () => null,
  findOrigin: () => undefined,
  hasProject: () => false,
  lastId: () => 0,
  judgedBeacons: () => [],
}

/** Runs a write. `rows`: what the methods of its transaction return. */
export async function recordWrite<Result>(
  run: (methods: WriteMethods) => Promise<Result>,
  rows: Partial<Transaction> = {},
): Promise<Recorded<Result>> {
  let needs: object = {}
  const changes: Changes = []
  const responses: Partial<Record<string, unknown>> = { ...nothing, ...rows }
  const transaction = new Proxy({} as Transaction, {
    get:
      (_, method: string) =>
      (...values: unknown[]) => {
        if (!(method in nothing)) changes.push([method, ...values])
        const response = responses[method]
        return typeof response === 'function' ? response(...values) : undefined
      },
  })
  const methods = writeMethods(async (named, write) => {
    needs = named
    return write(transaction)
  })
  return { result: await run(methods), needs, changes }
}
