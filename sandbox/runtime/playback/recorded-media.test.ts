/** The media of a recorded fill are those that its addresses name, as the file has them. */
import { expect, it } from 'vitest'
import { keepFilePath } from '#contract/recordings/recorded-parts.ts'
import { readRecording } from '#contract/recordings/recording.ts'
import { createRecordedMedia } from './recorded-media.ts'

const path = '/assets/one.png?w=300&Signature=q7Zk2mVd91xLr0Pc'

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
