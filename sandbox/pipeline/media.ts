/**
 * Files that the emulator serves: render.js, the hosted frame, creatives, test substitutes, and the documentation. Only
 * known names are found, never paths.
 */

import { createHash, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiError } from '#contract/errors.ts'
import { contract } from '#contract/index.ts'
import { frameAncestors } from '#contract/origins.ts'
import { entryOf } from '#foundation/table-entry.ts'
import { framePage, frameProblemPage } from '#frame-html/page.ts'
import type { Services } from '#operations/context.ts'
import { loadFrame, previewFrame } from '#operations/render.ts'
import { publicHeaders } from './credentials.ts'
import { type Coding, codingFor, readEncoded } from './encodings.ts'
import { type Exchange, headerOf, namesTag, type Request, type Response, type Route, toApiError } from './exchange.ts'
import { unknownPath } from './routes.ts'

export interface Asset {
  body: Buffer
  media_type: string
  etag: string
  /** Resolves to the compressed form of a text; absent for what is compressed by its nature. */
  encoded?: (coding: Coding) => Promise<Buffer>
}

/** Where the build has put the browser scripts. */
const renderer = 'dist/renderer'

export interface Assets {
  renderScript(): Promise<Asset>
  /** The part of render.js that it loads to show ads. */
  renderPart(file: string): Promise<Asset | null>
  frameScript(): Promise<string>
  creative(file: string): Promise<Asset | null>
  testAsset(format: string | undefined, query: Request['query']): Promise<Asset | null>
  demoFile(name: 'demo.js' | 'demo.css'): Promise<Asset>
  demoPicture(file: string): Promise<Asset | null>
  /** One of the files of the inspector. */
  inspectorFile(file: string): Promise<Asset | null>
  docsFile(name: 'docs.js' | 'docs.css' | 'index.json'): Promise<Asset>
  /** @param topic the topic of the page; empty for the page shown for unknown topics */
  docsPage(topic: string): Promise<Asset | null>
}

const mediaTypes: Record<string, string> = {
  webp: 'image/webp',
  png: 'image/png',
  mp4: 'video/mp4',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  json: 'application/json; charset=utf-8',
}

const bannerSizes = new Set(['970x250', '728x90', '336x280', '300x250', '320x100', '320x50'])
const clipSizes = new Set(['640x360', '320x180'])
const clipDurations = new Map([
  ['6000', '6s'],
  ['15000', '15s'],
])

/** `root` is the package's folder; `creatives` are the files that the catalogue names. */
export function createAssets(root: string, creatives: ReadonlySet<string>): Assets {
  const cached = new Map<string, Asset>()
  let pages: Promise<ReadonlyMap<string, string>> | undefined
  const load = async (path: string, made?: () => Promise<Buffer>): Promise<Asset> => {
    const known = cached.get(path)
    if (known !== undefined) return known
    const body = await (made?.() ?? readFile(join(root, path)))
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
    const media_type = entryOf(mediaTypes, path.split('.').at(-1)!) ?? 'application/octet-stream'
    const asset: Asset = { body, etag, media_type }
    if (made === undefined && isText.test(media_type))
      asset.encoded = cachedBy((coding) => readEncoded(join(root, path), body, coding))
    cached.set(path, asset)
    return asset
  }
  /** A tab may still request a chunk of an older build. */
  const find = (path: string) =>
    load(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    })
  return {
    renderScript: () => load(`${renderer}/render.js`),
    renderPart: async (file) => (file === 'mounts.js' ? load(`${renderer}/mounts.js`) : null),
    frameScript: async () => (await load('dist/renderer/frame.js')).body.toString('utf8'),
    creative: async (file) => (creatives.has(file) ? load(`fixtures/creatives/${file}`) : null),
    async testAsset(format, query) {
      const file = testFile(format, query)
      return file === null ? null : load(`fixtures/test-assets/${file}`)
    },
    demoFile: (name) => load(`dist/demo/${name}`),
    docsFile: (name) => load(`dist/docs/${name}`),
    async docsPage(topic) {
      pages ??= readFile(join(root, 'dist/docs/pages.json'), 'utf8').then(
        (text) => new Map(Object.entries(JSON.parse(text) as Record<string, string>)),
      )
      const html = (await pages).get(topic)
      return html === undefined ? null : load(`dist/docs/${topic}.html`, async () => Buffer.from(html))
    },
    inspectorFile: async (file) =>
      /^(inspector|events|chunk-[\w-]+)\.(js|css)$/.test(file) ? find(`dist/inspector/${file}`) : null,
    demoPicture: async (file) =>
      /^(ridges|city|botanical)-[1-4]\.webp$/.test(file) ? load(`fixtures/demo/${file}`) : null,
  }
}

const isText = /^(text\/|application\/json)/

function cachedBy<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new Map<Key, Value>()
  return (key) => {
    const known = made.get(key) ?? make(key)
    made.set(key, known)
    return known
  }
}

/** The test substitute that a query names. A parameter that is sent twice counts as absent. */
function testFile(format: string | undefined, query: Request['query']): string | null {
  const one = (name: string) => (typeof query[name] === 'string' ? query[name] : undefined)
  if (format === 'banner') {
    const size = `${one('width') ?? 300}x${one('height') ?? 250}`
    return bannerSizes.has(size) ? `banner-${size}.png` : null
  }
  if (format !== 'clip') return null
  const size = `${one('width') ?? 640}x${one('height') ?? 360}`
  const length = clipDurations.get(one('duration_ms') ?? '6000')
  if (!clipSizes.has(size) || length === undefined) return null
  return `clip-${size}-${length}.${one('poster') === 'true' ? 'webp' : 'mp4'}`
}

export function mediaRoutes(services: Services, assets: Assets): Route[] {
  const forAnHour = 'public, max-age=3600'
  const file = (path: string, cache: string, find: (request: Request) => Promise<Asset | null>): Route => ({
    method: 'GET',
    path,
    async respond(exchange) {
      return assetResponse(exchange, await find(exchange.request), { ...publicHeaders, 'cache-control': cache })
    },
  })
  return [
    file(contract['render.script'].path, 'no-cache', () => assets.renderScript()),
    file('/assets/render/{file}', 'no-cache', ({ params }) => assets.renderPart(params.file!)),
    file('/v1/test-assets/{format}', forAnHour, ({ params, query }) => assets.testAsset(params.format, query)),
    file('/assets/creatives/{folder}/{file}', forAnHour, ({ params }) =>
      assets.creative(`${params.folder}/${params.file}`),
    ),
    {
      method: 'GET',
      path: contract['render.frame'].path,
      respond: (exchange) => frameResponse(services, assets, exchange),
    },
    {
      method: 'GET',
      path: '/_sandbox/placements/{slot_id}/preview',
      respond: (exchange) => previewResponse(services, assets, exchange),
    },
  ]
}

/**
 * A file with further headers: whole, one range of it, or 304. A text is compressed where the client accepts it; each form
 * has a tag of its own, and ranges are of the file as it is.
 * @throws ApiError 404
 */
export async function assetResponse(
  { context, request }: Exchange,
  asset: Asset | null,
  further: Readonly<Record<string, string>>,
): Promise<Response> {
  if (asset === null) throw unknownPath()
  const { media_type, encoded: encode } = asset
  const asked = rangeHeader(request, asset.etag)
  const accepted = asked === undefined ? codingFor(headerOf(request, 'accept-encoding')) : null
  const encoded = accepted === null ? null : ((await encode?.(accepted)) ?? null)
  const body = encoded ?? asset.body
  const etag = encoded === null ? asset.etag : `${asset.etag.slice(0, -1)}-${accepted}"`
  const headers: Record<string, string> = {
    ...further,
    ...(encode === undefined ? {} : { vary: 'Accept-Encoding' }),
    ...(encoded === null ? {} : { 'content-encoding': accepted! }),
    'x-request-id': context.request_id,
    etag,
    'accept-ranges': 'bytes',
    ...context.headers,
  }
  const respond = (status: number, bytes: Buffer | '') => ({ status, headers, body: bytes })
  if (namesTag(request.headers['if-none-match'], etag)) {
    delete headers['content-encoding']
    return respond(304, '')
  }
  const range = rangeOf(asked, body.length)
  if (range === 'unsatisfiable') {
    headers['content-range'] = `bytes */${body.length}`
    return respond(416, '')
  }
  headers['content-type'] = media_type
  if (range === null) return respond(200, body)
  headers['content-range'] = `bytes ${range.start}-${range.end}/${body.length}`
  return respond(206, body.subarray(range.start, range.end + 1))
}

/**
 * Returns the Range header where it counts: If-Range asks for the part only of the very file that the client has, else
 * for all of it (RFC 9110, 13.1.5). Its tag is compared strongly. A date never matches: files have no Last-Modified.
 */
function rangeHeader(request: Request, etag: string): string | undefined {
  const condition = headerOf(request, 'if-range')
  return condition === undefined || condition.trim() === etag ? request.headers.range : undefined
}

/** One range of bytes, as `Range: bytes=0-499`; null when there is none or it has another form. */
function rangeOf(header: string | undefined, length: number): { start: number; end: number } | 'unsatisfiable' | null {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '')
  if (match === null || (match[1] === '' && match[2] === '')) return null
  const start = match[1] === '' ? Math.max(0, length - Number(match[2])) : Number(match[1])
  const end = match[1] === '' || match[2] === '' ? length - 1 : Math.min(Number(match[2]), length - 1)
  return start > end || start >= length ? 'unsatisfiable' : { start, end }
}

/** The frame of a slot, only for the inspector. @throws ApiError 404 */
async function previewResponse(services: Services, assets: Assets, { context, request }: Exchange): Promise<Response> {
  const frame = await services.drainLock.run(() => previewFrame(services, request.params.slot_id ?? ''))
  if (frame === null) throw unknownPath()
  const { url, base_url } = services
  const page = framePage({
    ...frame,
    base_url,
    frame_ancestors: frameAncestors(new Set([url, base_url]), 'test'),
    script: await assets.frameScript(),
    nonce: randomBytes(16).toString('base64url'),
    server_time_ms: context.now_ms,
  })
  return { status: page.status, headers: { ...page.headers, 'x-request-id': context.request_id }, body: page.html }
}

/** The frame of a fill, or a page in its place that says why there is none: a browser shows no error body. */
async function frameResponse(services: Services, assets: Assets, { context, request }: Exchange): Promise<Response> {
  const nonce = randomBytes(16).toString('base64url')
  const isPeek = request.method === 'HEAD'
  const asset_token = request.params.asset_token ?? ''
  const respond = (page: { status: number; headers: Record<string, string>; html: string }) => ({
    status: page.status,
    headers: { ...page.headers, ...context.headers, 'x-request-id': context.request_id },
    body: page.html,
  })
  try {
    const frame = await services.drainLock.run(() => loadFrame(services, context, asset_token, isPeek))
    if (frame.status === 'refused') {
      const { http_status: status, reason_code, frame_ancestors } = frame
      const error = new ApiError(reason_code)
      return {
        ...respond(frameProblemPage({ status, reason_code, message: error.message }, nonce, frame_ancestors)),
        error,
      }
    }
    return respond(
      framePage({
        ...frame,
        base_url: services.base_url,
        script: await assets.frameScript(),
        nonce,
        server_time_ms: services.platform.clock.now(),
      }),
    )
  } catch (thrown) {
    const error = await toApiError(services, thrown, context.request_id)
    const { status, reason_code, message } = error
    return { ...respond(frameProblemPage({ status, reason_code, message }, nonce, null)), error }
  }
}

/**
 * An error as a page that names its cause, for a request that a frame sent: a fault, a limit or a store that is away. JSON in
 * a frame is text that no renderer can read. Other responses are returned unchanged.
 */
export function readableInFrame({ path, headers }: Request, response: Response): Response {
  const { error, status } = response
  const isShown = /^\/v1\/render\/[^/]+$/.test(path) && headers.accept?.includes('text/html') === true
  if (error === undefined || !isShown || !response.headers['content-type']?.startsWith('application/json'))
    return response
  const { reason_code, message } = error
  const page = frameProblemPage({ status, reason_code, message }, randomBytes(16).toString('base64url'), null)
  return { ...response, headers: { ...response.headers, ...page.headers }, body: page.html }
}

/*
 * The documentation at /_sandbox/docs/: files that the build made from docs/*.md. None is read before the first
 * request. The pages name the address of a sandbox on its default port; they are served with the address of this one.
 */

const root = '/_sandbox/docs/'
/** The address in the sources of the documentation. */
const writtenAddress = 'http://127.0.0.1:4010'

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
  const file = (name: 'docs.js' | 'docs.css' | 'index.json') =>
    get(name, async (exchange) => assetResponse(exchange, await assets.docsFile(name), headers))
  const page = async (exchange: Exchange, topic: string): Promise<Response> => {
    const asset = topic === '' || topic === 'index' ? null : await assets.docsPage(topic)
    if (asset !== null) return assetResponse(exchange, withOwnAddress(asset), headers)
    return { ...(await assetResponse(exchange, withOwnAddress((await assets.docsPage(''))!), headers)), status: 404 }
  }
  const withOwnAddress = (asset: Asset): Asset => {
    const { base_url } = services
    if (base_url === writtenAddress) return asset
    const body = Buffer.from(asset.body.toString().replaceAll(writtenAddress, base_url))
    return { ...asset, body, etag: `${asset.etag.slice(0, -1)}-${new URL(base_url).host}"` }
  }
  return [
    redirect('/_sandbox/docs', root),
    redirect('/_sandbox/errors', `${root}errors`),
    get('', async (exchange) => assetResponse(exchange, withOwnAddress((await assets.docsPage('index'))!), headers)),
    file('docs.css'),
    file('docs.js'),
    file('index.json'),
    get('{topic}', (exchange) => page(exchange, exchange.request.params.topic ?? '')),
    get('{group}/', (exchange) => page(exchange, exchange.request.params.group ?? '')),
    get('{group}/{code}', ({ request, ...exchange }) => {
      const { group, code } = request.params
      return page({ ...exchange, request }, `${group}/${code}`)
    }),
  ]
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
