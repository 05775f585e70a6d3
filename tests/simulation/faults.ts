/** Ten faults of the kinds that cost acknowledged writes, put in on purpose: a history must show each of them. */
import type { Edit } from '#tests/mutations/mutation.ts'

export const faults: readonly Edit[] = []
