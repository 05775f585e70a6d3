/** What the frame of an ad reports to its page, and how often. Clips play in real time here. */
import type { Frame, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FrameMessage, HostMessage } from '#renderer/messages.ts'
import { about } from '#tests/browser/catalogue.ts'
import { framesCatalogue } from '#tests/browser/frames-catalogue.ts'
import { type Host, openStage, type PlaceOptions, type Stage } from '#tests/browser/stage.ts'
import { until } from '#tests/browser/turns.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage({ demand: framesCatalogue(), rate_limit: 'off' }, undefined, 'flows')
})
afterAll(() => stage?.[Symbol.asyncDispose]())

async function frameIn(page: Page, target: string): Promise<Frame> {
  const element = await page.locator(`${target} iframe`).elementHandle()
  return (await element!.contentFrame())!
}

/** Whatever was posted before is there. */
const settled = ({ page }: Host) =>
  page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))))

describe.concurrent('what the frame reports', () => {
  type Wire = { messages: FrameMessage[]; send: (message: HostMessage) => void }
  /** Opens a single frame, with a port that records its messages. */
  async function openPort(request: PlaceOptions, height: number): Promise<{ host: Host; frame: Frame }> {
    const host = await stage.open({ html: '<div id="slot" style="width:320px"></div>' })
    const { placement } = await host.place(request)
    await host.page.evaluate(
      async ({ url, height }) => {
        const frame = document.createElement('iframe')
        Object.assign(frame, { title: 'Ad', src: url, allow: 'autoplay' })
        frame.setAttribute('sandbox', 'allow-scripts allow-popups')
        frame.style.cssText = `width:100%;height:${height}px;border:0`
        document.querySelector('#slot')!.append(frame)
        await new Promise((resolve) => {
          frame.onload = resolve
        })
        const { port1, port2 } = new MessageChannel()
        const wire: Wire = { messages: [], send: (message) => port1.postMessage(message) }
        port1.onmessage = ({ data }) => wire.messages.push(data)
        Object.assign(window, { wire })
        frame.contentWindow!.postMessage({ t: 'sp:init', v: 1, nonce: 'n', instance_id: 'i' }, '*', [port2])
      },
      { url: placement!.render.frame_url, height },
    )
    return { host, frame: await frameIn(host.page, '#slot') }
  }
  const listMessages = ({ page }: Host) => page.evaluate(() => (window as unknown as { wire: Wire }).wire.messages)
  const kinds = async (host: Host) => (await listMessages(host)).map(({ t }) => t)
  const send = ({ page }: Host, message: HostMessage) =>
    page.evaluate((message) => (window as unknown as { wire: Wire }).wire.send(message), message)

  test('a card reports its height before it counts as rendered, and again only when its width has changed it', async () => {
    const { host } = await openPort(about('usual', { format: 'native', native_template_id: 'card' }), 200)
    await using _ = host
    await until(() => kinds(host), ['ready', 'resize', 'rendered'])
    const rate = await host.page.evaluate(async () => {
      const { wire } = window as unknown as { wire: Wire }
      const slot = document.querySelector<HTMLElement>('#slot')!
      const before = wire.messages.length
      const started = performance.now()
      for (let width = 320; width < 420; width += 2) {
        slot.style.width = `${width}px`
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      return { messages: wire.messages.length - before, seconds: (performance.now() - started) / 1_000 }
    })
    expect(rate.messages).toBeGreaterThan(0)
    expect(rate.messages / rate.seconds).toBeLessThan(10)
    const last = (await listMessages(host)).length
    await settled(host)
    expect(await listMessages(host)).toHaveLength(last)
  })

  test('a clip reports where a jump started before it reports where it ended, and nothing after it is torn down', async () => {
    const { host, frame } = await openPort({ format: 'clip', max_width: 320, max_height: 180 }, 180)
    await using _ = host
    await until(() => kinds(host), ['ready', 'rendered'])
    await send(host, { t: 'visibility', ratio: 1, page_visible: true })
    const media = async () => (await listMessages(host)).filter((message) => message.t === 'media')
    await until(async () => (await media())[0]?.state, 'playing')
    await frame.locator('video').evaluate((video: HTMLVideoElement) => {
      video.currentTime = 5
    })
    await until(async () => ((await media()).at(-1)?.position_ms ?? 0) > 4_900, true)
    const jump = (await media()).filter(({ position_ms }) => position_ms < 4_900)
    expect(jump.at(-1)?.state).toBe('stalled')
    await send(host, { t: 'teardown' })
    await until(() => frame.locator('video').evaluate((video: HTMLVideoElement) => video.paused), true)
    const last = (await listMessages(host)).length
    await frame.locator('button.mute').click()
    await settled(host)
    expect(await listMessages(host)).toHaveLength(last)
  })

  test('a clip sends no flood of messages while a key is held down', async () => {
    await using host = await stage.open({ html: '<div id="slot" style="width:320px"></div>' })
    await host.show({ format: 'clip', max_width: 320, max_height: 180 })
    const frame = await frameIn(host.page, '#slot')
    await host.waitForEvent('play_started')
    await frame.evaluate(async () => {
      for (let press = 0; press < 60; press += 1) {
        document.querySelector<HTMLElement>('.play')!.click()
        document.querySelector<HTMLElement>('.mute')!.click()
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    })
    await settled(host)
    expect(await host.types()).not.toContain('cleared')
  })
})
