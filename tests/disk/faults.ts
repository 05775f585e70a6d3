/** Faults put in on purpose, in the product and in what it asks of the disk: the suite must find each of them. */
import type { Edit } from '#tests/mutations/mutation.ts'
import { faults as simulated } from '#tests/simulation/faults.ts'

/** Those of the product. */
export const faults: readonly Edit[] = simulated.filter(({ name }) =>
  ['lost_flush_ignored', 'response_before_commit'].includes(name),
)
