/** Bundles that were imported (A117): checked, listed and shown. What reads them is loaded with the first one. */
import { findAlterations } from '#contract/bundles/proof.ts'
import { ApiError } from '#contract/errors.ts'
import type { Contract } from '#contract/index.ts'
import type { Operation } from '../context.ts'

export const listBundles: Operation<Contract['bundles.list']> = async (services) => ({
  items: services.importedBundles.list(),
})

export const importBundle: Operation<Contract['bundles.import']> = async (services, { now_ms }, { body }) => {
  const { readBundle } = await import('#contract/bundles/text.ts')
  const read = readBundle(body.text)
  if ('problem' in read) throw new ApiError('bundle_invalid', { message: `This is not a bundle: ${read.problem}.` })
  const { bundle } = read
  const { platform } = services
  const altered = findAlterations(bundle, platform.sha256Hex)
  const { public_key } = platform.signPublicly('')
  return services.importedBundles.add(bundle, {
    imported_at_ms: now_ms,
    problem: altered.length === 0 ? null : altered.join('; '),
    is_own: bundle.public_key === public_key,
  })
}

export const showBundle: Operation<Contract['bundles.show']> = async (services, _context, { params }) => {
  const found = services.importedBundles.find(params.bundle_id)
  if (found === null) throw new ApiError('not_found', { message: 'No such bundle was imported since the start.' })
  return found
}
