/** Fault rules of two nodes on one database: slow work on one node must not undo the other's change. */
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { FaultState } from '#store/store.ts'
import { createFaults, type FaultServices, type Faults } from './faults.ts'

/** A node whose stored rules are in `database`, and whose acknowledgements wait for `late`. */
function nodeOn(database: { state: FaultState | null; late: Promise<void> }): Faults {
  const store: FaultServices['store'] = {
    shared: {} as FaultServices['store']['shared'],
    async findFaults() {
      const found = database.state
      await database.late
      return found
    },
    saveFaults: () => Promise.reject(new Error('The rules of several nodes are updated.')),
    async updateFaults(update) {
      database.state = update(database.state)
      await database.late
    },
  }
  return createFaults({ store, hash: (text) => text, report: (error) => expect.unreachable(String(error)) })
}

const listStatuses = (faults: Faults) => faults.list().map(({ status }) => status)

test.each(['read', 'change'] as const)('the rules of another node stay when a %s takes long', async (slow) => {
  let end = () => {}
  const database = { state: null as FaultState | null, late: Promise.resolve() }
  const [one, other] = [nodeOn(database), nodeOn(database)]
  await other.add({ status: 500 }, 0)
  database.late = new Promise((resolve) => {
    end = resolve
  })
  const first = slow === 'read' ? one.restore() : one.add({ status: 501 }, 0)
  // Both have reached the database before the other node, or this one, changes more.
  await setImmediate()
  database.late = Promise.resolve()
  if (slow === 'change') await other.add({ status: 502 }, 0)
  const second = slow === 'read' ? one.add({ status: 501 }, 0) : one.restore()
  await setImmediate()
  end()
  await Promise.all([first, second])
  expect(listStatuses(one)).toEqual(slow === 'read' ? [501, 500] : [502, 501, 500])
})
