/** The media of a recorded fill are those that its addresses name, as the file has them. */
import { expect, it } from 'vitest'
import { keepFilePath } from '#contract/recordings/recorded-parts.ts'
import { readRecording } from '#contract/recordings/recording.ts'
import { createRecordedMedia } from './recorded-media.ts'

const path = '/assets/one.png?w=300&Signature=q7Zk2mVd91xLr0Pc'

/** Records a file at a path, and returns how it is served. */
function served(url: string, content_type: string) {
  const file = {
    startedDateTime: '2026-11-01T10:00:00Z',
    request: { method: 'GET', url: `https://ads.example${url}` },
    response: { status: 200, headers: [{ name: 'content-type', value: content_type }], content: { text: 'alert(1)' } },
  }
  const first = { ...file, request: { method: 'POST', url: 'https://ads.example/v1/placements' } }
  const { exchanges } = readRecording(JSON.stringify({ log: { entries: [first, file] } }))
  return createRecordedMedia(exchanges, { list: () => [] } as never).find(url)?.media_type
}

it.each([
  ['/assets/one.png', 'image/png', 'image/png'],
  ['/assets/creatives/a/one.webp?w=3', 'Image/WebP; q=1', 'image/webp'],
  ['/v1/test-assets/clip', 'video/mp4; codecs="avc1"', 'video/mp4'],
  ['/files/renders/mounts.svg', 'image/svg+xml', 'image/svg+xml'],
])('%s of type %s is served as %s', (url, type, expected) => expect(served(url, type)).toBe(expected))

it.each([
  ['/assets/render/mounts.js', 'image/png'],
  ['/assets/render/judge.js', 'image/png, text/javascript'],
  ['/assets/%72ender/judge.js', 'image/png'],
  ['/assets/one.png', 'image/png, text/javascript'],
  ['/assets/one.png', 'image/png/../../text/html'],
  ['/assets/one.png', 'video/../text/html'],
  ['/assets/one.js', 'text/javascript'],
  ['/assets/one.html', 'text/html'],
  ['/assets/one.xml', 'image/x+xml'],
  ['/%5fsandbox/y.svg', 'image/svg+xml'],
  ['//_sandbox/y.svg', 'image/svg+xml'],
  ['/v1/render.js', 'image/png'],
])('%s of type %s is not served', (url, type) => expect(served(url, type)).toBeUndefined())

it.each([
  ['a browser', path],
  ['svc record, which keeps no signature', keepFilePath(path)],
])('are found in a file of %s', (_, kept) => {
  const response = { status: 200, headers: [{ name: 'content-type', value: 'image/png' }] }
  const entry = (method: string, url: string, content: object) => ({
    startedDateTime: '2026-11-01T10:00:00Z',
    request: { method, url: `https://ads.example${url}` },
    response: { ...response, content },
  })
  const entries = [
    entry('POST', '/v1/placements', { text: '{}' }),
    entry('GET', kept, { encoding: 'base64', text: 'iVBORw==' }),
    entry('GET', '/assets/two.png?w=300', { encoding: 'base64', text: 'iVBORw==' }),
  ]
  const { exchanges } = readRecording(JSON.stringify({ log: { entries } }))
  const addresses = { image_url: `https://ads.example${path}`, video_url: null, icon_url: 'https://ads.example/none' }
  const fill = { fill: { ...addresses, mime_type: null }, names: { campaign_id: 'c', creative_id: 'crv_1' } }
  const media = createRecordedMedia(exchanges, { list: () => [fill] } as never)
  expect(media.findCreative('crv_1')).toEqual({ image: kept, video: null, icon: null, mime_type: null })
})
