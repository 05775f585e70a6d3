/** More restores at a time than SQLite attaches databases. */
import { expect, test } from 'vitest'
import { fill, stage } from '#tests/http/stage.ts'

test('in memory, twenty restores at a time each take their turn', async () => {
  await using on = await stage()
  const { slot_id } = await fill(on.api)
  const snapshot = { params: { name: 'kept' }, body: {} }
  await on.api.accept('snapshots.save', snapshot)
  await fill(on.api)
  await Promise.all(Array.from({ length: 20 }, () => on.api.accept('snapshots.restore', snapshot)))
  const { items } = (await on.api.accept('placements.list')).body
  expect(items.map((item) => item.slot_id)).toEqual([slot_id])
  expect((await on.api.accept('evidence.verify')).body.ok).toBe(true)
})
