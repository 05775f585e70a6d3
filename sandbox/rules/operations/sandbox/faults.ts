/** Fault rules. */
import { ApiError } from '#contract/errors.ts'
import type { Contract } from '#contract/index.ts'
import type { Operation } from '../context.ts'

export const listFaults: Operation<Contract['faults.list']> = async ({ faults }) => ({
  items: faults.list(),
  next_cursor: null,
})

export const addFault: Operation<Contract['faults.add']> = async ({ faults }, { now_ms }, { body }) =>
  faults.add(body, now_ms)

export const clearFaults: Operation<Contract['faults.clear']> = async ({ faults }) => ({
  cleared: await faults.remove(() => true),
})

export const removeFault: Operation<Contract['faults.remove']> = async ({ faults }, _context, { params }) => {
  const cleared = await faults.remove(({ fault_id }) => fault_id === params.fault_id)
  if (cleared > 0) return { cleared }
  throw new ApiError('not_found', {
    message: 'No such fault rule.',
    hint: 'List them: svc sandbox faults list.',
  })
}
