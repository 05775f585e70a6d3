/** The renderer in a React 19 application, whose StrictMode mounts every component twice. */
import { join } from 'node:path'
import { build, type Rolldown } from 'vite'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openStage, type Stage } from '#tests/browser/stage.ts'
import { nothing, one_ad, openTurnHost, rendered_only, type TurnHost, viewed } from '#tests/browser/turn-path.ts'
import { until } from '#tests/browser/turns.ts'
import type { Chat } from './react-chat.tsx'

vi.setConfig({ maxConcurrency: 3 })

let stage: Stage
let html: string
beforeAll(async () => {
  ;[stage, html] = await Promise.all([openStage({ rate_limit: 'off' }), buildPage()])
})
afterAll(() => stage?.[Symbol.asyncDispose]())

/** React's development build: only that one mounts twice. */
async function buildPage(): Promise<string> {
  const built = (await build({
    configFile: false,
    logLevel: 'warn',
    define: { 'process.env.NODE_ENV': '"development"' },
    build: {
      write: false,
      target: 'es2022',
      minify: false,
      lib: { entry: join(import.meta.dirname, 'react-chat.tsx'), formats: ['iife'], name: 'page' },
    },
  })) as Rolldown.RolldownOutput[]
  const { code } = built[0]!.output[0]
  return `<div id="root"></div><script>${code.replaceAll('</script', '<\\/script')}</script>`
}

interface ChatHost extends TurnHost {
  /** Renders the chat with these properties changed. */
  render(changed?: Partial<Chat>): Promise<void>
}

async function openChat(changed: Partial<Chat> = {}): Promise<ChatHost> {
  const host = await openTurnHost(stage, { html })
  let chat: Chat = {
    endpoint: host.endpoint,
    body: host.body({ format: 'banner', max_width: 300, max_height: 250 }),
    isStrict: true,
    effect: 'cancels',
    messages: [{ id: 'm1', text: 'An answer.' }],
    version: 1,
  }
  const render: ChatHost['render'] = async (changed) => {
    chat = { ...chat, ...changed }
    await host.page.evaluate((chat) => window.chat.show(chat), chat)
  }
  await render(changed)
  return { ...host, render }
}

const effects = ({ page }: ChatHost) => page.evaluate(() => window.chat.effects)
const count = async (host: ChatHost, type: string) => (await host.types()).filter((each) => each === type).length
const complaints = ({ console_lines }: ChatHost) =>
  console_lines.filter((line) => /^(error|warning|pageerror)/.test(line))
/** Marks the present frames, and returns how many of them are still there later. */
const mark = ({ page }: ChatHost) =>
  page.evaluate(() => {
    for (const frame of window.findAll('iframe')) frame.dataset.marked = ''
  })
const marked = ({ page }: ChatHost) => page.locator('iframe[data-marked]').count()

describe.concurrent('StrictMode', () => {
  test.for(['cancels', 'names', 'cancels and names'] as const)(
    'mounts twice; an effect that %s makes one request, one ad and one view of it',
    async (effect) => {
      await using host = await openChat({ effect })
      await host.waitForEvent('beacon', { event: 'visible' })
      expect(await effects(host)).toBe(2)
      expect(host.backend_calls).toEqual(['POST '])
      expect(await count(host, 'rendered')).toBe(1)
      expect(await count(host, 'turn:cancelled')).toBe(effect === 'names' ? 0 : 1)
      expect(await host.shown()).toEqual(one_ad)
      expect(await host.ledger()).toEqual(viewed)
      expect(complaints(host)).toEqual([])
    },
  )

  test('is no different from production, where it mounts once', async () => {
    await using host = await openChat({ isStrict: false })
    await host.waitForEvent('beacon', { event: 'visible' })
    expect(await effects(host)).toBe(1)
    expect(host.backend_calls).toEqual(['POST '])
    expect(await host.ledger()).toEqual(viewed)
  })
})

describe.concurrent('a component', () => {
  test('that renders again requests nothing again', async () => {
    await using host = await openChat()
    await host.waitForEvent('rendered')
    await mark(host)
    const renderings = await host.page.evaluate(() => window.chat.renderings)
    for (const text of ['one', 'two', 'three', 'four', 'five']) await host.render({ messages: [{ id: 'm1', text }] })
    await host.page.waitForFunction((before) => window.chat.renderings >= before + 5, renderings)
    await host.waitForEvent('beacon', { event: 'visible' })
    expect(host.backend_calls).toEqual(['POST '])
    expect(await marked(host)).toBe(1)
    expect(await effects(host)).toBe(2)
    expect(await host.ledger()).toEqual(viewed)
  })

  test('that is unmounted removes its ad', async () => {
    await using host = await openChat({ messages: [] })
    await host.whenRendered(() => window.chat.show({ ...window.chat.shown!, messages: [] }))
    await host.render({ messages: [{ id: 'm1', text: 'An answer.' }] })
    await host.waitForEvent('cleared')
    await host.waitForEvent('beacon', { event: 'render' })
    expect(await host.shown()).toEqual(nothing)
    await host.render({ messages: [{ id: 'm2', text: 'Another answer.' }] })
    await host.waitForEvent('beacon', { event: 'visible' })
    expect(await host.ledger()).toEqual([...rendered_only, ...viewed])
    expect(complaints(host)).toEqual([])
  })

  test('that is unmounted without cleaning up removes its ad anyway', async () => {
    await using host = await openChat({ effect: 'names' })
    await host.waitForEvent('beacon', { event: 'render' })
    await host.page.evaluate(() => window.chat.unmount())
    await host.waitForEvent('cleared', { reason: 'target_removed' })
    expect(await host.shown()).toEqual(nothing)
    expect(complaints(host)).toEqual([])
  })

  test('that is unmounted while its placement is requested shows nothing', async () => {
    await using host = await openTurnHost(stage, { html })
    const { release } = await host.hold({ format: 'banner' })
    const chat: Chat = {
      endpoint: host.endpoint,
      body: host.body(),
      isStrict: true,
      effect: 'cancels',
      messages: [{ id: 'm1', text: '' }],
      version: 1,
    }
    await host.page.evaluate((chat) => window.chat.show(chat), chat)
    await until(() => host.backend_calls, ['POST '])
    await host.page.evaluate((chat) => window.chat.show({ ...chat, messages: [] }), chat)
    await host.waitForEvent('turn:cancelled', {}, 2)
    release()
    await host.waitForEvent('error', { code: 'late_decision' })
    expect(await host.shown()).toEqual(nothing)
    expect(await host.ledger()).toEqual([])
  })

  test('whose key changes has a new turn, and the old ad is removed', async () => {
    await using host = await openChat({ effect: 'cancels and names', messages: [] })
    await host.whenRendered(() => {
      window.findAll('iframe')[0]!.dataset.marked = ''
      window.chat.show({ ...window.chat.shown!, version: 2 })
    })
    await host.render({ messages: [{ id: 'm1', text: 'An answer.' }] })
    await host.waitForEvent('beacon', { event: 'visible' })
    expect(host.backend_calls).toEqual(['POST ', 'POST '])
    expect(await marked(host)).toBe(0)
    expect(await host.shown()).toEqual(one_ad)
    expect(await host.ledger()).toEqual([...rendered_only, ...viewed])
    expect(complaints(host)).toEqual([])
  })
})

describe.concurrent('a list of messages', () => {
  test('has an ad in each, and one more does not disturb the others', async () => {
    const messages = ['m1', 'm2'].map((id) => ({ id, text: id }))
    await using host = await openChat({ messages })
    await host.waitForEvent('rendered', {}, 2)
    await mark(host)
    await host.render({ messages: [...messages, { id: 'm3', text: 'm3' }] })
    await host.waitForEvent('beacon', { event: 'visible' }, 3)
    expect(await host.shown()).toEqual({ frames: 3, labels: 3, occupied: 3 })
    expect(await marked(host)).toBe(2)
    expect(host.backend_calls).toHaveLength(3)
    expect((await host.ledger()).toSorted()).toEqual([...viewed, ...viewed, ...viewed].toSorted())
  })

  test('that loses its first message keeps the ads of the others', async () => {
    const messages = ['m1', 'm2', 'm3'].map((id) => ({ id, text: id }))
    await using host = await openChat({ messages })
    await host.waitForEvent('beacon', { event: 'render' }, 3)
    await mark(host)
    await host.render({ messages: messages.slice(1) })
    await host.waitForEvent('beacon', { event: 'visible' }, 2)
    expect(await host.shown()).toEqual({ frames: 2, labels: 2, occupied: 2 })
    expect(await marked(host)).toBe(2)
    expect(host.backend_calls).toHaveLength(3)
  })
})

test('an answer that streams twenty times a second disturbs neither the frame nor its dwell', async () => {
  await using host = await openChat({ messages: [] })
  const streamed = host.page.evaluate(
    ({ endpoint, body }) =>
      new Promise<{ updates: number; renderings: number }>((resolve) => {
        let updates = 0
        const timer = setInterval(() => {
          updates += 1
          const messages = [{ id: 'm1', text: `word ${updates}` }]
          window.chat.show({ endpoint, body, isStrict: true, effect: 'cancels', messages, version: 1 })
        }, 50)
        window.SponsoredPlacement!.on('rendered', () => {
          window.findAll('iframe')[0]!.dataset.marked = ''
        })
        window.SponsoredPlacement!.on('visible', () => {
          clearInterval(timer)
          resolve({ updates, renderings: window.chat.renderings })
        })
      }),
    { endpoint: host.endpoint, body: host.body({ format: 'banner', max_width: 300, max_height: 250 }) },
  )
  await host.waitForEvent('visible')
  const streaming = await streamed
  expect(streaming.updates).toBeGreaterThan(5)
  expect(streaming.renderings).toBeGreaterThan(5)
  await host.waitForEvent('beacon', { event: 'visible' })
  expect(await marked(host)).toBe(1)
  expect(host.backend_calls).toEqual(['POST '])
  expect(await host.ledger()).toEqual(viewed)
  expect(complaints(host)).toEqual([])
})
