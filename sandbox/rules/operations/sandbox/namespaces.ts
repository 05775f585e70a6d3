/** Namespaces of a shared store (A97). */
import { ApiError } from '#contract/errors.ts'
import type { Contract } from '#contract/index.ts'
import type { Operation } from '../context.ts'

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
        ? 'Namespaces need a shared store: svc start --store URL --namespace NAME.'
        : 'List them: svc team namespaces list.',
  })
}
