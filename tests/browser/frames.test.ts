/** What a user does inside the hosted frame of the emulator by keyboard and on a clip's controls. How it looks: tests/pages. */
import type { Frame, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { violations } from './axe.ts'
import { about } from './catalogue.ts'
import { framesCatalogue } from './frames-catalogue.ts'
import { type Host, openStage, type PlaceOptions, type Stage } from './stage.ts'

vi.setConfig({ maxConcurrency: 3 })

let stage: Stage
beforeAll(async () => {
  stage = await openStage({ demand: framesCatalogue(), rate_limit: 'off' })
})
afterAll(() => stage?.[Symbol.asyncDispose]())

/** Opens a page with an ad, rendered. */
async function openAd(
  request: PlaceOptions,
  options: Parameters<Stage['open']>[0] = {},
): Promise<{ host: Host; frame: Frame }> {
  const host = await stage.open({ html: '<div id="slot" style="width:320px"></div>', ...options })
  await host.show(request)
  await host.emitted('rendered')
  return { host, frame: await frameIn(host.page, '#slot') }
}

async function frameIn(page: Page, target: string): Promise<Frame> {
  const element = await page.locator(`${target} iframe`).elementHandle()
  return (await element!.contentFrame())!
}

test.for(['banner', 'native'] as const)('a %s is opened by keyboard, and that counts as a click', async (format) => {
  const { host } = await openAd(about('usual', { format, max_width: 320, max_height: 250 }))
  await using _ = host
  await host.page.keyboard.press('Tab')
  await Promise.all([host.context.waitForEvent('page'), host.page.keyboard.press('Enter')])
  expect(await host.emitted('click')).toMatchObject({ user_activated: true })
})

describe.concurrent('clips', { tags: 'depth' }, () => {
  const clip = { format: 'clip', max_width: 320, max_height: 180 } as const
  const button = (frame: Frame, name: string) => frame.getByRole('button', { name, exact: true })
  const appears = (frame: Frame, name: string) => button(frame, name).waitFor()
  /** Returns the name of the focused element inside the frame. */
  const focused = (frame: Frame) => frame.evaluate(() => document.activeElement!.ariaLabel)

  test('are controlled by keyboard only, with names for what a key does', async () => {
    const { host, frame } = await openAd(clip)
    await using _ = host
    await appears(frame, 'Pause')
    await host.page.keyboard.press('Tab')
    expect(await focused(frame)).toBe('Visit Notewick')
    await host.page.keyboard.press('Tab')
    expect(await focused(frame)).toBe('Pause')
    await host.page.keyboard.press('Enter')
    await appears(frame, 'Play')
    expect(await frame.locator('video').evaluate((video: HTMLVideoElement) => video.paused)).toBe(true)
    await host.page.keyboard.press('Tab')
    expect(await focused(frame)).toBe('Unmute')
    await host.page.keyboard.press('Space')
    await appears(frame, 'Mute')
    expect(await violations(frame)).toEqual([])
    const sizes = await frame
      .locator('button')
      .evaluateAll((all) => all.map((one) => Math.min(one.clientWidth, one.clientHeight) >= 24))
    expect(sizes).toEqual([true, true])
  })

  test('that have ended offer to play again, and a jump to the end is no completion', async () => {
    const { host, frame } = await openAd(clip)
    await using _ = host
    await host.emitted('play_started')
    await frame.locator('video').evaluate((video: HTMLVideoElement) => {
      video.currentTime = video.duration - 0.3
    })
    await host.pass(1_000)
    await appears(frame, 'Replay')
    expect(await host.types()).not.toContain('play_completed')
    await button(frame, 'Replay').click()
    await appears(frame, 'Pause')
    expect(await frame.locator('video').evaluate((video: HTMLVideoElement) => video.currentTime < 5)).toBe(true)
  })

  test('mark a test substitute, away from the controls', async () => {
    const { host, frame } = await openAd(clip)
    await using _ = host
    await appears(frame, 'Pause')
    const mark = (await frame.getByText('TEST', { exact: true }).boundingBox())!
    for (const control of await frame.locator('button').all()) {
      const box = (await control.boundingBox())!
      expect(mark.x + mark.width < box.x || mark.y + mark.height < box.y).toBe(true)
    }
  })
})
