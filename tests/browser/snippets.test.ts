/** What the first page promises: each block of README and guides that shows an ad, in a page, beside an answer of each kind. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stubLines } from '#foundation/page-snippet.ts'
import { freePort } from '#tests/cli/process.ts'
import { blocksOf, docFiles } from '#tests/docs/markdown.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { openStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage({}, undefined, 'held')
})
afterAll(() => stage?.[Symbol.asyncDispose]())

const usesTurn = /SponsoredPlacement\.(withTurn|startTurn)\(\s*\{ target: '#ad'/

/** Returns the script of a whole page. */
function moduleIn(html: string): string[] {
  return [...html.matchAll(/<script type="module">\n(.*?)<\/script>/gs)].map(([, script = '']) => script)
}

const blocks = docFiles.flatMap((file) =>
  blocksOf(file)
    .flatMap(({ language, text }) => (language === 'js' ? [text] : language === 'html' ? moduleIn(text) : []))
    .filter((text) => usesTurn.test(text))
    .map((text, index) => ({ name: `${file}, block ${index + 1}`, text })),
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
      const block = text
        .replace('/api/placement', endpoint)
        .replace(/\{ (client_id: 'proj_demo', )?session_id/, `{ ${more}`)
        // Of a whole page: the session and the answer are the test's.
        .replace("crypto.getRandomValues(new Uint32Array(4)).join('-')", JSON.stringify(session_id))
        .replace(/ *async function streamTheAnswer\(\) \{.*?\n {2}\}\n/s, '')
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

test('the server of the README serves its page, and asks for its ad with the key', async () => {
  const folder = temporaryDirectory()
  const own = blocksOf('README.md').filter(({ flags }) => ['server.mjs', 'page.html'].includes(flags.file ?? ''))
  for (const { flags, text } of own) writeFileSync(join(folder, flags.file!), text)
  const PORT = String(await freePort())
  const env = { PATH: process.env.PATH, SVC_BASE_URL: stage.sandbox.url, PORT }
  const server = spawn(process.execPath, ['server.mjs'], { cwd: folder, env, stdio: 'ignore' })
  try {
    const url = `http://127.0.0.1:${PORT}`
    await expect
      .poll(() =>
        fetch(url).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200)
    const page = await fetch(`${url}/?svc_console=1`)
    expect([page.headers.get('content-type'), await page.text()]).toEqual([
      'text/html',
      expect.stringContaining('<div id="ad"></div>'),
    ])
    expect((await fetch(`${url}/favicon.ico`)).status).toBe(404)
    const body = JSON.stringify({ client_id: 'proj_demo', session_id: 'readme', job_type: 'chat' })
    const response = await fetch(`${url}/api/placement`, { method: 'POST', body })
    const { slot_id, decision } = (await response.json()) as { slot_id: string; decision: { fill: boolean } }
    expect([response.status, decision.fill]).toEqual([200, true])
    const again = await fetch(`${url}/api/placement?slot_id=${slot_id}`)
    expect(await again.json()).toMatchObject({ slot_id })
    // Neither a request that is none, nor one that is left, nor a service that fails in the middle of its response ends it.
    expect(await sendBytes(PORT, 'GET // HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')).toContain(' 502 ')
    await sendBytes(PORT, 'POST /api/placement HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{', true)
    const cut = JSON.stringify({ effect: 'truncate', path: '/v1/placements', session_id: 'cut' })
    const headers = { 'content-type': 'application/json' }
    await fetch(`${stage.sandbox.url}/_sandbox/faults`, { method: 'POST', headers, body: cut })
    const busy = { path: '/v1/placements', session_id: 'busy', status: 429, retry_after_s: 7 }
    await fetch(`${stage.sandbox.url}/_sandbox/faults`, { method: 'POST', headers, body: JSON.stringify(busy) })
    const refused = await fetch(`${url}/api/placement`, { method: 'POST', body: body.replace('readme', 'busy') })
    // Without the header, render.js would not try again, and the ad would be lost.
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '7'])
    expect(refused.headers.get('content-type')).toMatch(/^application\/json/)
    const failed = await fetch(`${url}/api/placement`, { method: 'POST', body: body.replace('readme', 'cut') })
    expect([failed.status, (await fetch(url)).status]).toEqual([502, 200])
  } finally {
    server.kill()
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
  }
})

/** Resolves to what responds to some bytes. @param isLeft whether the connection ends in the middle of them */
async function sendBytes(port: string, bytes: string, isLeft = false): Promise<string> {
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(bytes)
  if (isLeft) socket.end(() => setTimeout(() => socket.destroy(), 100))
  return (
    await socket
      .setEncoding('utf8')
      .toArray()
      .catch(() => [])
  ).join('')
}

const [first, ...others] = blocks.flatMap(({ name, text }, index) =>
  (index === 0 ? answers : answers.slice(0, 1)).map((answer): Run => [name, answer, text]),
)

test.for([first!])('%s: the ad stays when the answer ends %s', runBlock)

/** The first block with the other answers, and each other block with one. */
test.for(others)('%s: the ad stays when the answer ends %s', { tags: 'depth' }, runBlock)
