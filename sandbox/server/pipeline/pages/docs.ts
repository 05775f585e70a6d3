/**
 * The documentation at /_sandbox/docs/: files that the build made from docs/*.md. None is read before the first
 * request. The pages name the address of a sandbox on its default port; they are served with the address of this one.
 */
import { usualAddress, withAddress } from '#foundation/http.ts'
import type { Services } from '#operations/context.ts'
import { encodeNow } from '../encodings.ts'
import type { OpenExchange, PipelineResponse, Route } from '../exchange.ts'
import { type Asset, type Assets, assetResponse, cachedBy } from '../files/assets.ts'

const root = '/_sandbox/docs/'

/**
 * Everything on a page comes from this sandbox: one style sheet, one script, and the index that the script searches.
 */
const policy = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const headers = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
}

export function docsRoutes(services: Services, assets: Assets): Route[] {
  const get = (path: string, respond: Route['respond']): Route => ({
    method: 'GET',
    path: `${root}${path}`,
    respond,
    isOpen: true,
    isPage: true,
  })
  const file = (name: 'docs.js' | 'docs.css') =>
    get(name, async (exchange) => assetResponse(exchange, await assets.docsFile(name), headers))
  const text = (name: 'index.json' | 'llms.txt') =>
    get(name, async (exchange) => assetResponse(exchange, withOwnAddress(await assets.docsFile(name)), headers))
  const page = async (exchange: OpenExchange, topic: string): Promise<PipelineResponse> => {
    const written = topic.endsWith('.md') ? await assets.docsText(topic.slice(0, -'.md'.length)) : null
    if (written !== null) return assetResponse(exchange, withOwnAddress(written), headers)
    const asset = topic === '' || topic === 'index' ? null : await assets.docsPage(topic)
    if (asset !== null) return assetResponse(exchange, withOwnAddress(asset), headers)
    return { ...(await assetResponse(exchange, withOwnAddress((await assets.docsPage(''))!), headers)), status: 404 }
  }
  const owned = new WeakMap<Asset, Asset>()
  const withOwnAddress = (asset: Asset): Asset => {
    const { base_url } = services
    if (base_url === usualAddress) return asset
    const own = owned.get(asset) ?? atAddress(asset, base_url)
    owned.set(asset, own)
    return own
  }
  return [
    redirect('/_sandbox/docs', root),
    redirect('/_sandbox/errors', `${root}errors`),
    get('', async (exchange) => assetResponse(exchange, withOwnAddress((await assets.docsPage('index'))!), headers)),
    file('docs.css'),
    file('docs.js'),
    text('index.json'),
    text('llms.txt'),
    // Where language models look first. The root belongs to the API, so what is there only leads here.
    redirect('/llms.txt', `${root}llms.txt`),
    get('{topic}', (exchange) => page(exchange, exchange.request.params.topic ?? '')),
    get('{group}/', (exchange) => page(exchange, exchange.request.params.group ?? '')),
    get('{group}/{code}', ({ request, ...exchange }) => {
      const { group, code } = request.params
      return page({ ...exchange, request }, `${group}/${code}`)
    }),
  ]
}

/** Returns a file with the address of this sandbox in place of the usual one. */
function atAddress(asset: Asset, base_url: string): Asset {
  const body = Buffer.from(withAddress(asset.body.toString(), base_url))
  const etag = `${asset.etag.slice(0, -1)}-${new URL(base_url).host}"`
  // Its compressed form has the address of the sources.
  const { encoded, ...plain } = asset
  if (encoded === undefined) return { ...plain, body, etag }
  return { ...plain, body, etag, encoded: cachedBy((coding) => encodeNow(body, coding)) }
}

/** The fragment of the old address is kept: browsers carry it over. */
function redirect(path: string, location: string): Route {
  return {
    method: 'GET',
    path,
    isOpen: true,
    isPage: true,
    respond: ({ context }) => ({ status: 302, headers: { 'x-request-id': context.request_id, location }, body: '' }),
  }
}
