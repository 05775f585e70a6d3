/** The committed fixtures are what they say: pictures and clips of the declared sizes, and a campaign for every request. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { MarketData } from '#domain/catalogue.ts'
import { readDemand, readFixture, root } from './fixtures.ts'

const { partners, campaigns } = MarketData.parse(readDemand(undefined).data)
const creatives = campaigns.flatMap((campaign) => campaign.creatives)

interface File {
  name: string
  width: number
  height: number
  mime_type: string
  duration_ms?: number
}

/** Each picture and clip that a creative names, with what the creative says of it. */
const named = creatives.flatMap((creative): File[] => {
  if (creative.format === 'native')
    return [
      { name: creative.image_file, width: creative.width, height: creative.height, mime_type: 'image/webp' },
      { name: creative.icon_file, width: 128, height: 128, mime_type: 'image/webp' },
    ].map((file) => ({ ...file, name: join('creatives', file.name) }))
  const file = { ...creative, name: join('creatives', creative.file) }
  if (creative.format === 'banner') return [file]
  const poster = join('creatives', creative.poster_file ?? 'missing')
  return [file, { name: poster, width: creative.width, height: creative.height, mime_type: 'image/webp' }]
})

/** The substitutes of test mode have their sizes in their names: banner-300x250.png, clip-640x360-6s.mp4 and its poster. */
const substitutes = globSync('test-assets/*', { cwd: join(root, 'fixtures') }).map((name): File => {
  const [, width, height, seconds, type] = /-(\d+)x(\d+)(?:-(\d+)s)?\.(\w+)$/.exec(name) ?? []
  const size = { name, width: Number(width), height: Number(height) }
  if (type !== 'mp4') return { ...size, mime_type: `image/${type}` }
  return { ...size, mime_type: 'video/mp4', duration_ms: Number(seconds) * 1000 }
})

test.each([...named, ...substitutes])('$name is $mime_type of $width x $height', (declared) => {
  const bytes = readFileSync(join(root, 'fixtures', declared.name))
  const found = readMedia(bytes)
  expect(found).toMatchObject({ width: declared.width, height: declared.height, mime_type: declared.mime_type })
  if (declared.duration_ms === undefined) return
  expect(Math.abs((found.duration_ms ?? 0) - declared.duration_ms)).toBeLessThanOrEqual(100)
  // It starts before all of it is loaded.
  expect(bytes.indexOf('moov')).toBeLessThan(bytes.indexOf('mdat'))
})

test('every file is one that a creative names', () => {
  const files = globSync('creatives/*/*', { cwd: join(root, 'fixtures') })
  expect(files.length).toBeGreaterThan(100)
  expect(files.filter((file) => !named.some(({ name }) => name === file))).toEqual([])
})

test.each([
  ['partner_id', partners.map((partner) => partner.partner_id)],
  ['campaign_id', campaigns.map((campaign) => campaign.campaign_id)],
  ['creative_id', creatives.map((creative) => creative.creative_id)],
])('each %s is there once', (_, ids) => {
  expect(new Set(ids).size).toBe(ids.length)
})

describe('the market', () => {
  test('has something of every format for anyone, anywhere, at any time', () => {
    const always = campaigns.filter(
      ({ topics, job_types, countries, flight }) =>
        [...topics, ...job_types, ...countries].length === 0 &&
        flight.starts_at_ms === null &&
        flight.ends_at_ms === null,
    )
    expect(always.length).toBeGreaterThanOrEqual(4)
    for (const { creatives } of always)
      expect(new Set(creatives.map(({ format }) => format))).toEqual(new Set(['banner', 'clip', 'native']))
  })

  test('sends people to domains of examples alone', () => {
    for (const { click_url, landing_domain } of campaigns) {
      expect(landing_domain).toMatch(/\.example$/)
      expect(click_url).toMatch(new RegExp(`^https://${landing_domain}[/?]`))
    }
  })

  test('has keywords for exactly the topics of its campaigns, none of them blocked', () => {
    const { topics } = readFixture<{ topics: Record<string, string[]> }>('topics.json')
    const { blocked_topics } = readFixture<{ blocked_topics: string[] }>('content-safety.json')
    expect(Object.keys(topics).toSorted()).toEqual(
      [...new Set(campaigns.flatMap((campaign) => campaign.topics))].toSorted(),
    )
    expect(Object.keys(topics).filter((topic) => blocked_topics.includes(topic))).toEqual([])
  })
})

/** Returns what the bytes of a PNG, WebP or MP4 say of themselves. @throws Error for any other file */
function readMedia(bytes: Buffer): Omit<File, 'name'> {
  if (bytes.toString('latin1', 1, 4) === 'PNG')
    return { mime_type: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
  if (bytes.toString('latin1', 4, 8) === 'ftyp') return readClip(bytes)
  const mime_type = 'image/webp'
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { mime_type, width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21)
      return { mime_type, width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8X':
      return { mime_type, width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
    default:
      throw new Error('It is neither PNG, WebP nor MP4.')
  }
}

/** Reads the boxes of version 0 of a movie's header and of its pictures' track, the one of the codec avc1. */
function readClip(bytes: Buffer): Omit<File, 'name'> {
  const header = bytes.indexOf('mvhd') + 8
  const codec = bytes.indexOf('avc1', bytes.indexOf('stsd'))
  if (header < 8 || codec < 0) throw new Error('The clip has no header, or no pictures in H.264.')
  return {
    mime_type: 'video/mp4',
    width: bytes.readUInt16BE(codec + 28),
    height: bytes.readUInt16BE(codec + 30),
    duration_ms: (bytes.readUInt32BE(header + 12) / bytes.readUInt32BE(header + 8)) * 1000,
  }
}
