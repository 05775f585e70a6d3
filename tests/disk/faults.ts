/** Faults put in on purpose: each of them must be found, by what a kill or a power loss leaves. */
import type { Edit } from '#tests/mutations/mutation.ts'
import { faults as simulated } from '#tests/simulation/faults.ts'

/** A commit that failed is acknowledged: found by calls that fail, not by what a kill leaves. */
export const failedCommit = 'lost_flush_ignored'

/** Those of the product. */
export const faults: readonly Edit[] = [
  ...simulated.filter(({ name }) => name === failedCommit),
  {
    name: 'snapshot_name_unflushed',
    wrong: 'A snapshot is acknowledged before its name is flushed: a power loss takes it.',
    in: 'sandbox/store/sqlite#namedSnapshots',
    from: 'renameOver(file, to)\n // The copy itself is flushed already.\n flushNames(dirname(to))',
    to: 'renameOver(file, to)',
  },
  {
    name: 'token_unflushed',
    wrong: 'A revoked token of the control plane is valid again after a power loss.',
    in: 'sandbox/store/sqlite#flushed',
    from: "db.pragma('synchronous = FULL')",
    to: '',
  },
  {
    name: 'key_unflushed',
    wrong: 'A power loss takes the key, and with it every asset token that was issued.',
    in: 'sandbox/store/sqlite#installKey',
    from: 'flushToDisk(keyPath)',
    to: 'void flushToDisk',
  },
]
