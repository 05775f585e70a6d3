/** Each recipe of docs/guides/chat-lists.md: 40 messages, the one with the ad scrolled away and back three times. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type ListStage, openListStage } from '#tests/browser/chat-lists/stage.ts'
import { root } from '#tests/cli/process.ts'

vi.setConfig({ maxConcurrency: 3 })

let stage: ListStage
beforeAll(async () => {
  stage = await openListStage({
    entry: join(root, 'tests/browser/chat-lists/app.tsx'),
    node_modules: join(root, 'node_modules'),
  })
})
afterAll(() => stage?.[Symbol.asyncDispose]())

const recipes = ['plain', 'streamed', 'react-window', 'react-virtuoso', 'react-virtual', 'use-chat']

describe.concurrent('three round trips: one placement, one billed view, and the ad is there after each', () => {
  test.each(recipes)('%s', async (recipe) => {
    await using list = await stage.open(recipe)
    if (recipe === 'use-chat') await list.ask()
    await list.roundTrips()
    expect(list.problems()).toEqual([])
  })
})

test('an ad that has expired while it was away leaves its slot empty, without a request', async () => {
  await using list = await stage.open('react-virtuoso')
  await list.scrollBack()
  await list.scrollAway()
  await stage.pass(31 * 60_000)
  await list.scrollToLast()
  await list.page.waitForFunction(() =>
    window.SponsoredPlacement!.getEvents().some(({ type }) => type === 'turn:expired'),
  )
  expect(await list.page.locator('iframe').count()).toBe(0)
  expect(await list.rowHeights()).toEqual([76, 76])
  expect(list.asked).toEqual(['POST '])
})

test('without consent nothing is loaded or requested, and no room is left for an ad', async () => {
  await using list = await stage.open('react-virtuoso', '#denied')
  const requests: string[] = []
  list.page.on('request', (request) => requests.push(request.url()))
  await list.page.reload()
  await list.scrollToLast()
  expect(requests).toHaveLength(1)
  expect(await list.rowHeights()).toEqual([76, 76])
})
