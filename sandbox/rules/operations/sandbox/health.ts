/** Liveness and readiness, for probes. */
import { ApiError } from '#contract/errors.ts'
import type { Contract } from '#contract/index.ts'
import type { Operation } from '../context.ts'

export const getLiveness: Operation<Contract['health.live']> = async () => ({ ok: true })

/** Readiness, for balancers: whether a request sent here now is served. */
export const getReadiness: Operation<Contract['health.ready']> = async ({ store, isDraining, descriptors }) => {
  if (isDraining) throw new ApiError('draining', { retry_after_s: 1 })
  if (store.shared?.isConnected() === false) {
    throw new ApiError('storage_unavailable', {
      message: 'This node has lost its database.',
      hint: 'Nothing has to be repaired here: the node is ready again when the database is back.',
      retry_after_s: 1,
    })
  }
  const problem = descriptors.problem()
  if (problem !== null) {
    throw new ApiError('storage_unavailable', {
      message: `The sandbox cannot accept connections: ${problem}.`,
      hint: 'Close connections that are not used, or start it with a higher limit: ulimit -n 4096.',
      retry_after_s: 1,
    })
  }
  return { ok: true }
}
