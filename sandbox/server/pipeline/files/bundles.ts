/** Bundles as they leave the sandbox. Their pictures are the files that the sandbox serves. */

import type { Bundle } from '#contract/bundles/bundle.ts'
import { contract } from '#contract/index.ts'
import { composeBundle, type ReadMedia } from '#operations/bundles/composition.ts'
import type { Services } from '#operations/context.ts'
import { validate } from '../body/validation.ts'
import type { OpenExchange, Route } from '../exchange.ts'
import type { Assets } from './assets.ts'

const { 'bundles.page': page } = contract

export function bundleRoutes(services: Services, assets: Assets): Route[] {
  const compose = ({ context, request }: OpenExchange): Promise<Bundle> => {
    const query = validate(page.query, { ...request.query })
    return services.drainLock.run(() => composeBundle(services, context, query, createReadMedia(assets)))
  }
  return [
    {
      method: 'GET',
      path: page.path,
      isPage: true,
      async respond(exchange) {
        const bundle = await compose(exchange)
        const { bundlePage } = await import('#contract/bundles/page.ts')
        const headers = {
          'content-type': page.response.media_type,
          'content-disposition': `attachment; filename="${nameFile(bundle)}"`,
          'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:",
          'cache-control': 'no-store',
          'x-content-type-options': 'nosniff',
          'x-request-id': exchange.context.request_id,
        }
        return { status: 200, headers, body: bundlePage(bundle) }
      },
    },
  ]
}

function nameFile({ turns }: Bundle): string {
  return `${turns.length === 1 ? turns[0]!.placement.slot_id : 'session'}.svc.html`
}

function createReadMedia(assets: Assets): ReadMedia {
  return async (url) => {
    const { pathname, searchParams } = new URL(url)
    const creative = /\/assets\/creatives\/(.+)$/.exec(pathname)?.[1]
    if (creative !== undefined) return assets.creative(creative)
    const format = /\/v1\/test-assets\/(\w+)$/.exec(pathname)?.[1]
    return format === undefined ? null : assets.testAsset(format, Object.fromEntries(searchParams))
  }
}
