import type { Mode } from '../../src/contract/fields.ts'
import { formatKey } from '../domain/tokens.ts'
import type { KeyClass, NewKey } from '../store/store.ts'
import type { Services } from './context.ts'

/**
 * A key that no project has, as text and as it is stored. A sandbox with a seed makes the same ones at every start, so
 * its database may hold some of them already.
 */
export async function newKey(
  { platform, store }: Services,
  key_class: KeyClass,
  mode: Mode,
): Promise<{ text: string; row: NewKey }> {
  for (;;) {
    const text = formatKey(key_class, mode, platform.newSecret())
    const hash = platform.sha256(text)
    if ((await store.findKey(hash)) === null) return { text, row: { class: key_class, mode, hash } }
  }
}
