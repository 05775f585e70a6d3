/**
 * Keys of a project, and tokens of the control plane: shown once when created, revoked for good (A02, A97). With the audit
 * list of what was done with the tokens, and the namespaces that they are for.
 */
import type { KeyItem } from '../../src/contract/control/keys.ts'
import { ApiError } from '../../src/contract/errors.ts'
import type { Mode } from '../../src/contract/fields.ts'
import { decodeId, encodeId, formatKey } from '../../src/contract/ids.ts'
import type { Contract } from '../../src/contract/index.ts'
import { startName } from '../runtime/access.ts'
import type { KeyClass, KeyListRow, NewKey } from '../store/store.ts'
import { cursorOf, type Operation, pageOf, projectOf, type Services } from './context.ts'

export const listKeys: Operation<Contract['keys.list']> = async (services, _context, { params, query }) => {
  const project = await projectOf(services, params.client_id)
  const { rows, next } = await services.store.listKeys(project.id, pageOf(query))
  return { items: rows.map(keyItem), next_cursor: cursorOf(next) }
}

export const createKey: Operation<Contract['keys.create']> = async (services, { now_ms }, { params, body }) => {
  const project = await projectOf(services, params.client_id)
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
    message: 'There is no such key in this sandbox.',
    hint: 'Send its key_id, which svc keys list shows, not the key itself.',
  })
}

function keyItem({ id, project, class: key_class, mode, created_at_ms, revoked_at_ms }: KeyListRow): KeyItem {
  const { client_id } = project
  return { key_id: encodeId('key', id), client_id, class: key_class, mode, created_at_ms, revoked_at_ms }
}

/**
 * Resolves to a new key, as text and as it is stored. A sandbox with a seed generates the same keys after every start, so
 * those that its database already holds are skipped.
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

/* Tokens of the control plane */

export const listTokens: Operation<Contract['tokens.list']> = async ({ access }) => ({ items: await access.list() })

export const createToken: Operation<Contract['tokens.create']> = async ({ access }, _context, { body }) => {
  const created = await access.create(body.name, body.role ?? 'read')
  if (created !== null) return { ...created.row, token: created.text }
  const isOwn = body.name === startName
  throw new ApiError('token_exists', {
    message: isOwn
      ? `The name ${startName} is that of the token of svc start.`
      : `There is a token named ${body.name}, or there was one.`,
  })
}

export const revokeToken: Operation<Contract['tokens.revoke']> = async ({ access }, _context, { params }) => {
  const row = await access.revoke(params.name)
  if (row !== null) return row
  throw new ApiError('not_found', {
    message: `There is no token named ${params.name}.`,
    hint: 'List them: svc tokens list.',
  })
}

export const listAudit: Operation<Contract['audit.list']> = async ({ store }, _context, { query }) => {
  const page = pageOf(query)
  const rows = await store.access.listAudit({ ...page, token: query.token })
  const items = rows.slice(0, page.limit).map(({ id, ...entry }) => ({ audit_id: id, ...entry }))
  return { items, next_cursor: cursorOf(rows.length > page.limit ? items.at(-1)!.audit_id : null) }
}

export const listNamespaces: Operation<Contract['namespaces.list']> = async ({ store: { shared } }) => {
  if (shared === null) return { items: [] }
  const namespaces = await shared.namespaces()
  return { items: namespaces.map((namespace) => ({ ...namespace, is_own: namespace.name === shared.namespace })) }
}

export const deleteNamespace: Operation<Contract['namespaces.delete']> = async ({ store }, _context, { params }) => {
  const outcome = (await store.shared?.deleteNamespace(params.name)) ?? 'missing'
  if (outcome === 'deleted') return { ok: true }
  if (outcome === 'in_use') throw new ApiError('namespace_in_use')
  throw new ApiError('not_found', {
    message: `There is no namespace named ${params.name}.`,
    hint:
      store.shared === null
        ? 'Namespaces are of a shared store: svc start --store URL --namespace NAME.'
        : 'List them: svc namespaces list.',
  })
}
