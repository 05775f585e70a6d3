/** Faults of nodes that share a database, put in on purpose: a history must show each of them. */
import type { Edit } from '#tests/mutations/mutation.ts'

/** Which faults `npm run test:shared` looks for each time; long runs look for all. */
export const quickMutants: readonly string[] = ['acknowledged_before_flush', 'decided_twice']

export interface SharedMutant extends Edit {
  /** The faults, by name, under which it shows. */
  under: readonly string[]
}

export const mutants: readonly SharedMutant[] = [
  {
    name: 'acknowledged_before_flush',
    wrong: 'A write is acknowledged before the disk of the database has it.',
    in: 'sandbox/store/postgres#acknowledgements',
    from: 'if (isFlushed || used.flusher === null) {',
    to: 'if (isFlushed || used.flusher !== null) {',
    under: ['crash'],
  },
  {
    name: 'sent_again_after_cut',
    wrong: 'A commit whose outcome is unknown is sent again.',
    in: 'sandbox/store/postgres#createCommits',
    from: 'const isUnsent = isLost && taken.length === 0',
    to: 'const isUnsent = isLost',
    under: ['delay', 'halve', 'reset'],
  },
  {
    name: 'decided_twice',
    wrong: 'A slot that is decided is decided again by another node.',
    in: 'sandbox/store/postgres#Batch',
    from: 'if (slot === null || slot.decided_at_ms !== null) return null',
    to: 'if (slot === null) return null',
    under: ['delay', 'hold', 'pause'],
  },
  {
    name: 'consent_compared_too_late',
    wrong: 'A consent is written without a look at what another node has written in the meantime.',
    in: 'sandbox/store/writes#saveConsent',
    from: 'if (present?.revision !== expected?.revision || present?.updated_at_ms !== expected?.updated_at_ms) return null',
    to: '',
    under: ['delay'],
  },
  {
    name: 'chain_not_locked',
    wrong: 'Two nodes continue the chain of a project at the same entry.',
    in: 'sandbox/store/postgres#lockChains',
    from: 'ORDER BY project_id FOR UPDATE',
    to: 'ORDER BY project_id',
    under: ['delay'],
  },
]
