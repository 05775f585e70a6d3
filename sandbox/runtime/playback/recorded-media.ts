/** The media of a recording: served at their recorded paths, and shown by the frames of the fills that name them. */
import { locate, type RecordedExchange } from '#contract/recordings/recording.ts'
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
  const files = new Map(
    exchanges.flatMap((exchange) => readFile(exchange) ?? []).map(({ path, ...file }) => [path, file]),
  )
  const pathOf = (address: string | null): string | null => {
    const path = address === null ? null : (locate('GET', address)?.path ?? null)
    return path !== null && files.has(path) ? path : null
  }
  const creatives = new Map(
    campaigns.list().map(({ fill, names }): [string, CreativePaths] => {
      const paths = { image: pathOf(fill.image_url), video: pathOf(fill.video_url), icon: pathOf(fill.icon_url) }
      return [names.creative_id, { ...paths, mime_type: fill.mime_type }]
    }),
  )
  return {
    paths: [...new Set([...files.keys()].map((path) => path.split('?')[0]!))],
    find: (path) => files.get(path) ?? null,
    findCreative: (creative_id) => creatives.get(creative_id) ?? null,
  }
}

/** A file of the service, whole. */
function readFile(exchange: RecordedExchange): (RecordedFile & { path: string }) | null {
  const { endpoint, status, response_headers, response_body, path } = exchange
  if (endpoint !== null || response_body === null) return null
  const body =
    'base64' in response_body ? Buffer.from(response_body.base64, 'base64') : Buffer.from(response_body.text, 'utf8')
  if (status !== 200 && !(status === 206 && isWhole(response_headers['content-range'], body.length))) return null
  return { path, body, media_type: response_headers['content-type'] ?? 'application/octet-stream' }
}

/** Players ask for a range of a video, which is often all of it. */
function isWhole(range: string | undefined, length: number): boolean {
  return range === `bytes 0-${length - 1}/${length}`
}
