/** Lists of the control plane answer `{ items, next_cursor }`, newest first. */
import { z } from 'zod'
import { queryNumber } from '../fields.ts'
import { assumed } from '../provenance.ts'

export const page = <S extends z.ZodType>(item: S) =>
  z.strictObject({
    items: assumed(z.array(item), 'A93', 'Newest first.'),
    next_cursor: assumed(z.string().nullable(), 'A93', 'Send as cursor for the next page; null at the end.'),
  })

export const pageQuery = {
  limit: assumed(queryNumber(z.int().min(1).max(1000)).optional(), 'A93', 'Items in a page, 1 to 1000; default 50.'),
  cursor: assumed(z.string().max(64).optional(), 'A93', 'next_cursor of the page before.'),
}

/** An instant (epoch milliseconds) or a span back from now: 10m, 2h, 30s. */
export const Since = z
  .string()
  .regex(/^(\d{1,16}|\d{1,9}(ms|s|m|h|d))$/, 'must be epoch milliseconds or a span such as 10m')
