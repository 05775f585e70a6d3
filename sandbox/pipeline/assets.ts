/** Files that the emulator serves: render.js, frame.js, creatives and test substitutes. Only named files, never paths. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface Asset {
  body: Buffer
  media_type: string
  etag: string
}

export interface Assets {
  renderScript(): Promise<Asset>
  frameScript(): Promise<string>
  creative(file: string): Promise<Asset | null>
  testAsset(query: TestAssetQuery): Promise<Asset | null>
  demoFile(name: 'demo.js' | 'demo.css'): Promise<Asset>
}

export interface TestAssetQuery {
  format: string
  width: string | undefined
  height: string | undefined
  duration_ms: string | undefined
  poster: string | undefined
}

const mediaTypes: Record<string, string> = {
  webp: 'image/webp',
  png: 'image/png',
  mp4: 'video/mp4',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
}

const bannerSizes = new Set(['970x250', '728x90', '336x280', '300x250', '320x100', '320x50'])
const clipSizes = new Set(['640x360', '320x180'])
const clipDurations = new Map([
  ['6000', '6s'],
  ['15000', '15s'],
])

/** `root` is the package's folder; `creatives` are the files that the catalogue names. */
export function createAssets(root: string, creatives: ReadonlySet<string>): Assets {
  const kept = new Map<string, Asset>()
  const load = async (path: string): Promise<Asset> => {
    const known = kept.get(path)
    if (known !== undefined) return known
    const body = await readFile(join(root, path))
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
    const asset = { body, etag, media_type: mediaTypes[path.split('.').at(-1)!] ?? 'application/octet-stream' }
    kept.set(path, asset)
    return asset
  }
  return {
    renderScript: () => load('dist/renderer/render.js'),
    frameScript: async () => (await load('dist/renderer/frame.js')).body.toString('utf8'),
    creative: async (file) => (creatives.has(file) ? load(`fixtures/creatives/${file}`) : null),
    async testAsset(query) {
      const file = testFile(query)
      return file === null ? null : load(`fixtures/test-assets/${file}`)
    },
    demoFile: (name) => load(`dist/demo/${name}`),
  }
}

function testFile({ format, width, height, duration_ms, poster }: TestAssetQuery): string | null {
  if (format === 'banner') {
    const size = `${width ?? 300}x${height ?? 250}`
    return bannerSizes.has(size) ? `banner-${size}.png` : null
  }
  if (format !== 'clip') return null
  const size = `${width ?? 640}x${height ?? 360}`
  const length = clipDurations.get(duration_ms ?? '6000')
  if (!clipSizes.has(size) || length === undefined) return null
  return `clip-${size}-${length}.${poster === 'true' ? 'webp' : 'mp4'}`
}

/** One range of bytes, as `Range: bytes=0-499`; null when there is none or it is not one that is understood. */
export function rangeOf(
  header: string | undefined,
  length: number,
): { start: number; end: number } | 'unsatisfiable' | null {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '')
  if (match === null || (match[1] === '' && match[2] === '')) return null
  const start = match[1] === '' ? Math.max(0, length - Number(match[2])) : Number(match[1])
  const end = match[1] === '' || match[2] === '' ? length - 1 : Math.min(Number(match[2]), length - 1)
  return start > end || start >= length ? 'unsatisfiable' : { start, end }
}
