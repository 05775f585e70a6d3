/** An ad whose frame has another address than render.js: a name, proxy or tunnel of the same sandbox, or a fault. */
import { expect, test } from 'vitest'
import type { ConsoleSlot } from '#contract/resources/sandbox/console-slots.ts'
import type { ConsoleAd, ConsolePage } from '#renderer/host/console-page.ts'
import type { RendererEvent } from '#renderer/host/events.ts'
import { listNotices, readSlots } from './slots.ts'
import { describeState } from './words.ts'

const base_url = 'http://127.0.0.1:4010'
const timeout = { type: 'error', code: 'render_timeout', message: 'the frame has not started', instance_id: 'ri_1' }
const rendered = { type: 'rendered', instance_id: 'ri_1' }
const known = (frame_loaded_at_ms: number | null) => ({ frame_loaded_at_ms }) as ConsoleSlot

/** Returns what the console says of an ad with a frame of this origin, after this event. */
function describe(frame_origin: string, event: object, sandbox: ConsoleSlot | null | undefined) {
  const render = { frame_url: `${frame_origin}/v1/render/ast_1` }
  const shown = event === rendered ? ({ isConnected: true, getRootNode: () => null } as unknown as HTMLElement) : null
  const ad = { slot_id: 'slot_1', instance_id: 'ri_1', element: shown, placement: { format: 'banner', render } }
  const page = { base_url, turns: () => [], ads: () => [ad as unknown as ConsoleAd] } as unknown as ConsolePage
  globalThis.ShadowRoot ??= class {} as typeof ShadowRoot
  const [slot] = readSlots(page, [event as RendererEvent], () => sandbox)
  const { details, text } = describeState(slot!)
  return { text, fix: details?.fix, notices: listNotices(slot!) }
}

const generic = 'The frame did not show its creative in time. (the frame has not started)'

test.each([
  ['the address of render.js', base_url, null],
  ['another name of this computer', 'http://localhost:4010', known(null)],
  ['a proxy whose frame the sandbox has served', 'https://ads.example', known(1)],
  ['an address of which the sandbox has not been asked yet', 'https://ads.example', undefined],
  ['another sandbox', 'http://127.0.0.1:4999', null],
])('a frame that did not render, from %s, has the words of its code', (_, origin, sandbox) => {
  expect(describe(origin, timeout, sandbox).text).toBe(generic)
})

test('a frame that did not render, from an address that the sandbox has not given out, has that as its cause', () => {
  const { text, fix } = describe('http://localhost:3000', timeout, known(null))
  expect(text).toBe(
    'The frame of slot_1 was loaded from http://localhost:3000/v1/render/ast_1, and never from the service, http://127.0.0.1:4010/v1/render/: its frame_url was changed.',
  )
  expect(fix).toBe('Let your endpoint, and the page, pass frame_url on unchanged.')
})

test.each([
  ['from the address of render.js', base_url, null],
  ['from another name of this computer', 'http://[::1]:4010', null],
  ['through a tunnel to the same sandbox', 'https://ads.example', known(1)],
  ['before the sandbox has been asked for it', 'http://127.0.0.1:4999', undefined],
])('an ad that is shown %s has no notice', (_, origin, sandbox) => {
  expect(describe(origin, rendered, sandbox).notices).toEqual([])
})

test('an ad of another sandbox than that of render.js has a notice', () => {
  const elsewhere = { frame_url: 'http://127.0.0.1:4999/v1/render/ast_1', base_url }
  expect(describe('http://127.0.0.1:4999', rendered, null).notices).toEqual([{ code: 'renderer_elsewhere', elsewhere }])
})
