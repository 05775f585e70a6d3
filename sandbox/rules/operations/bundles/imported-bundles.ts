/** The bundles that were imported, the newest 20, in memory: they are for looking at, and no part of the state. */

import type { Bundle } from '#contract/bundles/bundle.ts'
import { encodeInteger } from '#contract/ids.ts'
import type { ImportedBundle } from '#contract/resources/bundles.ts'
import type { Platform } from '#platform/platform.ts'

export interface ImportedBundles {
  /** Returns the import, with its identifier. */
  add(bundle: Bundle, verdict: ImportVerdict): ImportedBundle
  /** Newest first. */
  list(): ImportedBundle[]
  find(bundle_id: string): (ImportVerdict & { bundle_id: string; text: string }) | null
}

type ImportVerdict = Pick<ImportedBundle, 'imported_at_ms' | 'problem' | 'not_compared' | 'is_own'>

const maxBundles = 20

export function createImportedBundles({ newId }: Pick<Platform, 'newId'>): ImportedBundles {
  const stored = new Map<string, ImportVerdict & { bundle: Bundle }>()
  return {
    add(bundle, verdict) {
      const bundle_id = `bun_${encodeInteger(newId())}`
      stored.set(bundle_id, { ...verdict, bundle })
      for (const oldest of stored.keys()) {
        if (stored.size <= maxBundles) break
        stored.delete(oldest)
      }
      return describe(bundle_id, bundle, verdict)
    },
    list: () =>
      Array.from(stored, ([bundle_id, { bundle, ...verdict }]) => describe(bundle_id, bundle, verdict)).reverse(),
    find(bundle_id) {
      const found = stored.get(bundle_id)
      if (found === undefined) return null
      const { bundle, ...verdict } = found
      return { bundle_id, ...verdict, text: JSON.stringify(bundle) }
    },
  }
}

function describe(bundle_id: string, bundle: Bundle, verdict: ImportVerdict): ImportedBundle {
  const { client_id, session_id, at_ms, turns } = bundle
  return {
    bundle_id,
    ...verdict,
    client_id,
    session_id,
    slot_ids: turns.map(({ placement }) => placement.slot_id),
    at_ms,
  }
}
