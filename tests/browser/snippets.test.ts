/** What the first page promises: each block of README and guides that shows an ad, in a page, beside an answer of each kind. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stubLines } from '#foundation/page-snippet.ts'
import { blocksOf, docFiles } from '#tests/docs/markdown.ts'
import { openStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage({}, undefined, 'held')
})
afterAll(() => stage?.[Symbol.asyncDispose]())

const usesTurn = /SponsoredPlacement\.(withTurn|startTurn)\(\s*\{ target: '#ad'/

const blocks = docFiles.flatMap((file) =>
  blocksOf(file)
    .filter(({ language, text }) => language === 'js' && usesTurn.test(text))
    .map(({ text }, index) => ({ name: `${file}, block ${index + 1}`, text })),
)

test('they are those of the README, the reference and the guide of the page', () => {
  const files = new Set(blocks.map(({ name }) => name.split(',')[0]))
  expect([...files].toSorted()).toEqual(['README.md', 'docs/guides/browser.md', 'docs/renderer.md'])
  expect(blocks.length).toBeGreaterThanOrEqual(5)
})

/** How the answer goes: its end is a step of the test, so that no time decides. */
const answers = ['at once', 'after the ad was viewed', 'with an error'] as const

type Run = [name: string, answer: (typeof answers)[number], text: string]

async function runBlock([, answer, text]: Run): Promise<void> {
  await using host = await stage.open({ html: `<div id="ad"></div><script>${stubLines.join('\n')}</script>` })
  const { page, endpoint, session_id } = host
  await page.evaluate(
    ({ text, answer, endpoint, session_id }) => {
      const streamed = new Promise<string>((resolve, reject) => {
        const ends = { 'at once': resolve, 'after the ad was viewed': null, 'with an error': reject }[answer]
        ends?.('the answer')
        Object.assign(window, { endAnswer: () => resolve('the answer') })
      })
      // The backend of these tests adds nothing to a request, and one format is enough.
      const more = "client_id: 'proj_demo', overrides: { allowed_formats: ['banner'] }, session_id"
      const block = text.replace('/api/placement', endpoint).replace('{ session_id', `{ ${more}`)
      const run = new Function('session_id', 'streamTheAnswer', `return (async () => {${block}})()`)
      Object.assign(window, {
        outcome: run(session_id, () => streamed).then(
          () => 'passed',
          () => 'failed',
        ),
      })
    },
    { text, answer, endpoint, session_id },
  )
  await host.waitForEvent('rendered')
  await host.waitForEvent('beacon', { event: 'visible' })
  const outcome = await page.evaluate(() => {
    const { endAnswer, outcome } = window as unknown as { endAnswer: () => void; outcome: Promise<string> }
    endAnswer()
    return outcome
  })
  await host.pass(5_000)
  expect(outcome).toBe(answer === 'with an error' && text.includes('streamTheAnswer') ? 'failed' : 'passed')
  expect(await host.types()).not.toContain('cleared')
  expect(await page.locator('iframe').count()).toBe(1)
  expect(await host.ledger()).toEqual(['render accepted OK', 'visible accepted OK +viewable_impression'])
}

const [first, ...others] = blocks.flatMap(({ name, text }, index) =>
  (index === 0 ? answers : answers.slice(0, 1)).map((answer): Run => [name, answer, text]),
)

test.for([first!])('%s: the ad stays when the answer ends %s', runBlock)

/** The first block with the other answers, and each other block with one. */
test.for(others)('%s: the ad stays when the answer ends %s', { tags: 'depth' }, runBlock)
