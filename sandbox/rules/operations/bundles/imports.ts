/** Bundles that were imported (A117): checked, listed and shown. What reads them is loaded with the first one. */
import { ApiError } from '#contract/errors.ts'
import type { Contract } from '#contract/index.ts'
import type { Operation } from '../context.ts'

export const listBundles: Operation<Contract['bundles.list']> = async (services) => ({
  items: services.importedBundles.list(),
})

export const importBundle: Operation<Contract['bundles.import']> = async (services, { now_ms }, { body }) => {
  const [{ readBundle }, { checkBundleFile }] = await Promise.all([
    import('#contract/bundles/text.ts'),
    import('#contract/bundles/file-check.ts'),
  ])
  const read = readBundle(body.text)
  if ('problem' in read) throw new ApiError('bundle_invalid', { message: `This is not a bundle: ${read.problem}.` })
  const { bundle } = read
  const { platform, version } = services
  const { alterations, not_compared } = checkBundleFile(body.text, bundle, {
    sha256Hex: platform.sha256Hex,
    svc_version: version,
  })
  const { public_key } = platform.signPublicly('')
  return services.importedBundles.add(bundle, {
    imported_at_ms: now_ms,
    problem: alterations.length === 0 ? null : alterations.join('; '),
    not_compared,
    is_own: bundle.public_key === public_key,
  })
}

export const showBundle: Operation<Contract['bundles.show']> = async (services, _context, { params }) => {
  const found = services.importedBundles.find(params.bundle_id)
  if (found === null) throw new ApiError('not_found', { message: 'No such bundle was imported since the start.' })
  return found
}
