/**
 * A chat template in a real Chromium, scaffolded, installed and built as a newcomer does it, against the packed sandbox:
 * until a viewable beacon is accepted, and through everything that can stand in its way.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectBeacons, openStage, placementsSince, type Stage } from './browser-stage.ts'
import { run } from './run.ts'
import { type Scaffolded, scaffold } from './scaffolded.ts'

const viewed = ['render accepted', 'visible accepted +viewable_impression']
const question = 'How do I make better espresso at home?'
const node = process.execPath
const phone = { viewport: { width: 375, height: 700 } }

export interface Chat {
  template: string
  /** Arguments of node that build it for the stage; null when it needs no build, or its own test has made one for any. */
  build: readonly string[] | null
  /** Arguments of node that serve the build, on a port that is printed. */
  serve: readonly string[]
}

/** The tests of one chat template beside its own, which has what a fill and a no-fill show. */
export function describeChat({ template, build, serve }: Chat): void {
  let stage: Stage
  beforeAll(async () => {
    stage = await openStage()
  })
  afterAll(() => stage?.[Symbol.asyncDispose]())

  describe(template, () => {
    let project: Scaffolded
    let server: Awaited<ReturnType<Stage['serve']>>
    beforeAll(async () => {
      project = await scaffold(template)
      if (build !== null) await run(node, [...build], project.directory, stage.env)
      server = await stage.serve(project.directory, [node, ...serve])
    })
    afterAll(async () => {
      await server?.[Symbol.asyncDispose]()
    })

    test('requests nothing from the service before consent, and answers all the same', async () => {
      const since_ms = Date.now()
      await using chat = await stage.open(server.origin)
      expect(await chat.ask(question)).toContain('Weigh it.')
      await chat.decide('No, thanks')
      expect(await chat.ask(question)).toContain('Weigh it.')
      await chat.page.reload()
      expect(await chat.page.getByRole('button', { name: 'Allow' }).isVisible()).toBe(false)
      expect(chat.asked).toEqual([])
      expect(await placementsSince(stage.client, since_ms)).toEqual([])
      expect(chat.complaints).toEqual([])
    })

    test.each([
      { scheme: 'light', context: { colorScheme: 'light' } },
      { scheme: 'dark, 375 px wide', context: { colorScheme: 'dark', ...phone } },
    ] as const)('after consent shows a labelled ad, and its view is accepted: $scheme', async ({ context }) => {
      const since_ms = Date.now()
      await using chat = await stage.open(server.origin, context)
      expect(await chat.violations()).toEqual([])
      await chat.decide('Allow', true)
      await chat.ask(question)
      const [placement, ...others] = await placementsSince(stage.client, since_ms)
      expect(others).toEqual([])
      expect(placement).toMatchObject({ fill: true, format: 'native', job_type: 'chat' })
      await expectBeacons(stage.client, placement!.slot_id, viewed)

      const { page } = chat
      expect(await page.locator('[data-sp-label]').innerText()).toMatch(/^Sponsored · \S/)
      const frame = (await page.locator('iframe').boundingBox())!
      const [height] = await chat.slots()
      expect(frame.height).toBeGreaterThan(60)
      expect(height).toBeGreaterThanOrEqual(frame.height)
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0)
      expect(await chat.violations()).toEqual([])
      expect(chat.complaints).toEqual([])
      const { topic, prompt_length } = await stage.client.placements.explain({
        params: { slot_id: placement!.slot_id },
      })
      expect({ topic, prompt_length }).toEqual({ topic: 'coffee', prompt_length: question.length })
    })

    test('has one ad a turn, and keeps the earlier ones', async () => {
      const since_ms = Date.now()
      await using chat = await stage.open(server.origin)
      await chat.decide('Allow')
      for (const text of [question, 'Plan my first 10 km run', 'And then?']) await chat.ask(text)
      const placements = await placementsSince(stage.client, since_ms)
      expect(placements).toHaveLength(3)
      expect(new Set(placements.map(({ session_id }) => session_id)).size).toBe(1)
      await expectBeacons(stage.client, placements[0]!.slot_id, viewed)
      expect(await chat.page.locator('iframe').count()).toBe(3)
      const { prompt_length } = await stage.client.placements.explain({ params: { slot_id: placements[0]!.slot_id } })
      expect(prompt_length).toBeNull()
      expect(chat.complaints).toEqual([])
    })

    test('a withdrawal clears the ad, reaches the service, and ends the requests', async () => {
      const since_ms = Date.now()
      await using chat = await stage.open(server.origin)
      await chat.decide('Allow')
      await chat.ask(question)
      await chat.page.locator('iframe').waitFor()
      const [placement] = await placementsSince(stage.client, since_ms)
      await chat.decide('No, thanks')
      expect(await chat.page.locator('iframe, [data-sp-label]').count()).toBe(0)
      await expect
        .poll(async () => {
          const { items } = await stage.client.consent.list({ query: { session_id: placement!.session_id! } })
          return items[0]?.lifecycle_state
        })
        .toBe('withdrawn')
      expect(await chat.ask(question)).toContain('Weigh it.')
      expect(await placementsSince(stage.client, since_ms)).toHaveLength(1)
      await chat.page.reload()
      expect(await chat.page.getByRole('button', { name: 'Sponsored: off' }).isVisible()).toBe(true)
    })

    describe.each([
      ...['pending_forever', 'rate_limited', 'unavailable', 'garbled_response'].map((name) => ({
        trouble: name,
        begin: () => stage.client.scenario.use({ params: { name }, body: {} }),
        end: () => stage.client.scenario.clear(),
      })),
      {
        // Possibly more than once: browsers repeat a request when its connection was dropped.
        trouble: 'connections that drop',
        begin: () => stage.client.faults.add({ body: { path: '/v1/placements', effect: 'drop' } }),
        end: () => stage.client.faults.clear(),
      },
    ])('in trouble: $trouble', ({ begin, end }) => {
      beforeAll(begin)
      afterAll(end)

      test('the answer is complete, and no gap is left', async () => {
        const since = String(Date.now())
        await using chat = await stage.open(server.origin)
        await chat.decide('Allow')
        expect(await chat.ask(question)).toMatch(/^Weigh it\..*three weeks\.$/s)
        expect(await chat.slots()).toEqual([0])
        const { items } = await stage.client.requests.list({ query: { path: '/v1/', since } })
        expect(items.length).toBeGreaterThan(0)
        expect(await chat.page.locator('iframe, [data-sp-label]').count()).toBe(0)
      })
    })
  })
}
