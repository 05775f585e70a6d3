/** Keys of a project: shown once when created, and revoked for good (A02). */
import { ApiError } from '#contract/errors.ts'
import type { Mode } from '#contract/fields.ts'
import { decodeId, encodeId, formatKey } from '#contract/ids.ts'
import type { Contract } from '#contract/index.ts'
import type { KeyItem } from '#contract/resources/keys.ts'
import type { KeyClass, KeyListRow, NewKey } from '#store/store.ts'
import { encodeCursor, type Operation, parsePage, requireProject, type Services } from './context.ts'

export const listKeys: Operation<Contract['keys.list']> = async (services, _context, { params, query }) => {
  const project = await requireProject(services, params.client_id)
  const { rows, next } = await services.store.listKeys(project.id, parsePage(query))
  return { items: rows.map(keyItem), next_cursor: encodeCursor(next) }
}

export const createKey: Operation<Contract['keys.create']> = async (services, { now_ms }, { params, body }) => {
  const project = await requireProject(services, params.client_id)
  const { class: key_class = 'secret', mode = 'test' } = body
  const key = await newKey(services, key_class, mode)
  const row = await services.store.insertKey(project.id, key.row, now_ms)
  return { ...keyItem(row), key: key.text }
}

export const revokeKey: Operation<Contract['keys.revoke']> = async ({ store }, { now_ms }, { params }) => {
  const id = decodeId('key', params.key_id)
  const row = id === null ? null : await store.revokeKey(id, now_ms)
  if (row !== null) return keyItem(row)
  throw new ApiError('not_found', {
    message: 'No such key in this sandbox.',
    hint: 'Send its key_id, which svc sandbox keys list shows, not the key itself.',
  })
}

function keyItem({ id, project, class: key_class, mode, created_at_ms, revoked_at_ms }: KeyListRow): KeyItem {
  const { client_id } = project
  return { key_id: encodeId('key', id), client_id, class: key_class, mode, created_at_ms, revoked_at_ms }
}

/**
 * Resolves to a new key, as text and as it is stored. A sandbox with a seed generates the same keys after every start,
 * so those already in its database are skipped.
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
