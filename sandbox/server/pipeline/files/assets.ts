/**
 * Files that the emulator serves: scripts, creatives, test substitutes, pages. Only known names are found, never paths.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { contract } from '#contract/index.ts'
import { findEntry } from '#foundation/table-entry.ts'
import type { Markets, OwnFile } from '#runtime/markets.ts'
import type { RecordedMedia } from '#runtime/playback/recorded-media.ts'
import { refuseSecretsInQuery } from '../body/secret-fields.ts'
import { publicHeaders } from '../cors.ts'
import { type Coding, codingFor, readEncoded } from '../encodings.ts'
import {
  inertPolicy,
  matchesTag,
  type OpenExchange,
  type PipelineResponse,
  type Request,
  type Route,
  readHeader,
  sourceHeader,
} from '../exchange.ts'
import { createPathError, type Routes } from '../routes.ts'

export interface Asset {
  body: Buffer
  media_type: string
  etag: string
  /** Whether someone else made it: an SVG may be a document. */
  isForeign?: true
  /** Resolves to the compressed form of a text; absent for what is compressed by its nature. */
  encoded?: (coding: Coding) => Promise<Buffer>
}

/** Where the build has put the browser scripts. */
const renderer = 'dist/renderer'

export interface Assets {
  renderScript(): Promise<Asset>
  /** A part of render.js: what shows ads, and what judges whether they are seen. */
  renderPart(file: string): Promise<Asset | null>
  frameScript(): Promise<string>
  /** The module of the console on a page. */
  consoleScript(): Promise<Asset>
  creative(file: string): Promise<Asset | null>
  /** A file of the recording that is played, by its path and query. */
  recorded(url: string): Asset | null
  /** The paths of those files. */
  recorded_paths: readonly string[]
  testAsset(format: string | undefined, query: Request['query']): Promise<Asset | null>
  demoFile(name: 'demo.js' | 'demo.css'): Promise<Asset>
  demoPicture(file: string): Promise<Asset | null>
  inspectorFile(file: string): Promise<Asset | null>
  docsFile(name: 'docs.js' | 'docs.css' | 'index.json' | 'llms.txt'): Promise<Asset>
  /** The text of a page, as `svc docs --text` prints it. */
  docsText(topic: string): Promise<Asset | null>
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
  txt: 'text/plain; charset=utf-8',
  md: 'text/markdown; charset=utf-8',
}

const bannerSizes = new Set(['970x250', '728x90', '336x280', '300x250', '320x100', '320x50'])
const clipSizes = new Set(['640x360', '320x180'])
const clipDurations = new Map([
  ['6000', '6s'],
  ['15000', '15s'],
])

interface CreativeFiles {
  /** The files that the catalogue names. */
  creatives: ReadonlySet<string>
  /** Those of a recording. */
  media: RecordedMedia | null
  /** Those of your own demand, which are in a catalogue. */
  findOwn: Markets['findFile']
}

/** `root` is the package's folder. */
export function createAssets(root: string, { creatives, media, findOwn }: CreativeFiles): Assets {
  const cached = new Map<string, Asset>()
  let pages: Promise<ReadonlyMap<string, string>> | undefined
  let texts: typeof pages
  const load = async (path: string, made?: () => Promise<Buffer>): Promise<Asset> => {
    const known = cached.get(path)
    if (known !== undefined) return known
    const body = await (made?.() ?? readFile(join(root, path)))
    const etag = createTag(body)
    const media_type = findEntry(mediaTypes, path.split('.').at(-1)!) ?? 'application/octet-stream'
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
    renderPart: async (file) => (/^(mounts|judge|activation)\.js$/.test(file) ? load(`${renderer}/${file}`) : null),
    frameScript: async () => (await load('dist/renderer/frame.js')).body.toString('utf8'),
    consoleScript: () => load(`${renderer}/console.js`),
    async creative(file) {
      const own = await findOwn(file)
      if (own !== null) return describeOwn(own)
      return creatives.has(file) && !file.startsWith('demand/') ? load(`fixtures/creatives/${file}`) : null
    },
    recorded(url) {
      const file = media?.find(url) ?? null
      return file === null ? null : { ...file, etag: createTag(file.body) }
    },
    recorded_paths: media?.paths ?? [],
    async testAsset(format, query) {
      const file = findTestFile(format, query)
      return file === null ? null : load(`fixtures/test-assets/${file}`)
    },
    demoFile: (name) => load(`dist/demo/${name}`),
    docsFile: (name) => load(`dist/docs/${name}`),
    async docsText(topic) {
      texts ??= readTopics(join(root, 'dist/docs/texts.json'))
      const text = (await texts).get(topic)
      return text === undefined ? null : load(`dist/docs/${topic}.md`, async () => Buffer.from(text))
    },
    async docsPage(topic) {
      pages ??= readTopics(join(root, 'dist/docs/pages.json'))
      const html = (await pages).get(topic)
      return html === undefined ? null : load(`dist/docs/${topic}.html`, async () => Buffer.from(html))
    },
    inspectorFile: async (file) =>
      /^(inspector|events|chunk-[\w-]+)\.(js|css)$/.test(file) ? find(`dist/inspector/${file}`) : null,
    demoPicture: async (file) =>
      /^(ridges|city|botanical)-[1-4]\.webp$/.test(file) ? load(`fixtures/demo/${file}`) : null,
  }
}

/** Resolves to the pages or texts of all topics. */
async function readTopics(file: string): Promise<ReadonlyMap<string, string>> {
  return new Map(Object.entries<string>(JSON.parse(await readFile(file, 'utf8'))))
}

/** By the file as it is cached: its tag is computed once. */
const ownAssets = new WeakMap<OwnFile, Asset>()

function describeOwn(own: OwnFile): Asset {
  const asset = ownAssets.get(own) ?? { ...own, etag: createTag(own.body), isForeign: true as const }
  ownAssets.set(own, asset)
  return asset
}

function createTag(body: Buffer): string {
  return `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
}

const isText = /^(text\/|application\/json)/

/** Returns a function that makes the value of a key once. */
export function cachedBy<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new Map<Key, Value>()
  return (key) => {
    const known = made.get(key) ?? make(key)
    made.set(key, known)
    return known
  }
}

/** The test substitute that a query names. A parameter that is sent twice counts as absent. */
function findTestFile(format: string | undefined, query: Request['query']): string | null {
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

const recordedHeaders = { [sourceHeader]: 'recording', 'content-security-policy': inertPolicy }

type FindAsset = (request: Request) => Promise<Asset | null>

function fileRoute(path: string, cache: string, find: FindAsset): Route {
  return {
    method: 'GET',
    path,
    async respond(exchange) {
      refuseSecretsInQuery(exchange.request)
      const asset = await find(exchange.request)
      const policy = asset?.isForeign === true ? { 'content-security-policy': inertPolicy } : {}
      return assetResponse(exchange, asset, { ...publicHeaders, ...policy, 'cache-control': cache })
    },
  }
}

/** A route of creatives: only these can be those of a recording. */
function creativeRoute(assets: Assets, path: string, find: FindAsset): Route {
  const route = fileRoute(path, forAnHour, find)
  return {
    ...route,
    async respond(exchange) {
      const recorded = assets.recorded(exchange.request.url)
      if (recorded === null) return route.respond(exchange)
      Object.assign(exchange.context.headers, recordedHeaders)
      return assetResponse(exchange, recorded, { ...publicHeaders, 'cache-control': forAnHour })
    },
  }
}

const forAnHour = 'public, max-age=3600'

export function assetRoutes(assets: Assets): Route[] {
  return [
    fileRoute(contract['render.script'].path, 'no-cache', () => assets.renderScript()),
    fileRoute('/assets/render/{file}', 'no-cache', ({ params }) => assets.renderPart(params.file!)),
    { ...fileRoute('/_sandbox/console.js', 'no-cache', () => assets.consoleScript()), isForHostPages: true },
    creativeRoute(assets, '/v1/test-assets/{format}', ({ params, query }) => assets.testAsset(params.format, query)),
    creativeRoute(assets, '/assets/creatives/{folder}/{file}', ({ params }) =>
      assets.creative(`${params.folder}/${params.file}`),
    ),
  ]
}

/** Returns the routes of recorded files, where the sandbox has none of its own. */
export function recordedRoutes(assets: Assets, routes: Pick<Routes, 'listMethods'>): Route[] {
  const others = assets.recorded_paths.filter((path) => routes.listMethods(path).length === 0 && !path.includes('{'))
  return others.map((path) => creativeRoute(assets, path, async () => null))
}

/**
 * A file with further headers: whole, one range of it, or 304. A text is compressed where the client accepts it. Each form
 * has its own tag; ranges count uncompressed bytes.
 * @throws ApiError 404
 */
export async function assetResponse(
  { context, request }: OpenExchange,
  asset: Asset | null,
  further: Readonly<Record<string, string>>,
): Promise<PipelineResponse> {
  if (asset === null) throw createPathError()
  const { media_type, encoded: encode } = asset
  const asked = rangeHeader(request, asset.etag)
  const accepted = asked === undefined ? codingFor(readHeader(request, 'accept-encoding')) : null
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
  if (matchesTag(request.headers['if-none-match'], etag)) {
    delete headers['content-encoding']
    return respond(304, '')
  }
  const range = parseRange(asked, body.length)
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
  const condition = readHeader(request, 'if-range')
  return condition === undefined || condition.trim() === etag ? request.headers.range : undefined
}

/** One range of bytes, as `Range: bytes=0-499`; null when there is none or it has another form. */
function parseRange(
  header: string | undefined,
  length: number,
): { start: number; end: number } | 'unsatisfiable' | null {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '')
  if (match === null || (match[1] === '' && match[2] === '')) return null
  const start = match[1] === '' ? Math.max(0, length - Number(match[2])) : Number(match[1])
  const end = match[1] === '' || match[2] === '' ? length - 1 : Math.min(Number(match[2]), length - 1)
  return start > end || start >= length ? 'unsatisfiable' : { start, end }
}
