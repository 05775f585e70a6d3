/** The media of a recording: served at their recorded paths, and shown by the frames of the fills that name them. */
import { keepFilePath } from '#contract/recordings/recorded-parts.ts'
import type { RecordedExchange } from '#contract/recordings/recording.ts'
import type { RecordedCampaigns } from './recorded-campaigns.ts'

interface RecordedFile {
  body: Buffer
  media_type: string
}

/** Paths with their queries; null for what was not recorded. */
interface CreativePaths {
  image: string | null
  video: string | null
  icon: string | null
  mime_type: string | null
}

export interface RecordedMedia {
  /** The paths of all files, without queries. */
  readonly paths: readonly string[]
  /** Returns the file of a path with its query. */
  find(path: string): RecordedFile | null
  /** Returns the recorded files of a creative; null for a creative of the emulator. */
  findCreative(creative_id: string): CreativePaths | null
}

export function createRecordedMedia(
  exchanges: readonly RecordedExchange[],
  campaigns: Pick<RecordedCampaigns, 'list'>,
): RecordedMedia {
  const read = exchanges.flatMap((exchange) => readFile(exchange) ?? [])
  const files = new Map(read.map(({ path, file }) => [path, file]))
  const pathsByAddress = new Map(read.map(({ address, path }) => [address, path]))
  const findPath = (address: string | null) =>
    address === null ? null : (pathsByAddress.get(address) ?? pathsByAddress.get(keepFileAddress(address)) ?? null)
  const creatives = new Map(
    campaigns.list().map(({ fill, names }): [string, CreativePaths] => {
      const paths = { image: findPath(fill.image_url), video: findPath(fill.video_url), icon: findPath(fill.icon_url) }
      return [names.creative_id, { ...paths, mime_type: fill.mime_type }]
    }),
  )
  return {
    paths: [...new Set([...files.keys()].map((path) => path.split('?')[0]!))],
    find: (path) => files.get(path) ?? null,
    findCreative: (creative_id) => creatives.get(creative_id) ?? null,
  }
}

/** Returns the address of a file as `svc record` writes that of its request: without the signature in its query, for example. */
function keepFileAddress(address: string): string {
  const url = URL.parse(address)
  return url === null ? address : url.origin + keepFilePath(url.pathname + url.search)
}

/** Pages, scripts and endpoints of the emulator are not for a recording to replace, whatever the spelling of their path. */
const ownPaths = /^\/+(?:_sandbox|public|v1(?!\/test-assets\/)|assets\/render|llms\.txt|livez|readyz)(?:\/|$)/

/** What a recorded file is served as: what is played never chooses a type that a browser runs. */
const servedTypes: readonly string[] = [
  ...['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/svg+xml'],
  ...['video/mp4', 'video/webm'],
]

/** Returns the type of an image or a video that browsers show; null for any other, and for several in one. */
function servedType(content_type: string): string | null {
  const essence = content_type.split(';')[0]!.trim().toLowerCase()
  return servedTypes.find((type) => type === essence) ?? null
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path.split('?')[0]!)
  } catch {
    return path
  }
}

/** A file of the service, whole: an image or a video. */
function readFile(exchange: RecordedExchange): { address: string; path: string; file: RecordedFile } | null {
  const { endpoint, status, base_url, response_headers, response_body, path } = exchange
  const media_type = servedType(response_headers['content-type'] ?? '')
  if (endpoint !== null || response_body === null || media_type === null) return null
  if (ownPaths.test(decodePath(path))) return null
  const body =
    'base64' in response_body ? Buffer.from(response_body.base64, 'base64') : Buffer.from(response_body.text, 'utf8')
  if (status !== 200 && !(status === 206 && isWhole(response_headers['content-range'], body.length))) return null
  return { address: base_url + path, path, file: { body, media_type } }
}

/** Players ask for a range of a video, which is often all of it. */
function isWhole(range: string | undefined, length: number): boolean {
  return range === `bytes 0-${length - 1}/${length}`
}
