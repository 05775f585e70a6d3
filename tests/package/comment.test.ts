/** The comment of the action on a pull request, against a GitHub that keeps comments in memory. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { root } from '../cli/process.ts'
import { temporaryDirectory } from '../temporary.ts'

const script = join(root, 'deploy/action/comment.mjs')

interface Comment {
  id: number
  body: string
  user: { login: string }
}

/** Opens a GitHub. `login`: who has the token, which may ask that only if it is a user's. */
async function openGithub({ login = 'github-actions[bot]', mayWrite = true } = {}) {
  const comments: Comment[] = []
  const calls: string[] = []
  const server = createServer(async (request, response) => {
    const url = new URL(request.url!, 'http://github.test')
    const sent = (await request.toArray()).join('')
    const send = (status: number, value: unknown) => response.writeHead(status).end(JSON.stringify(value))
    calls.push(`${request.method} ${url.pathname}`)
    expect(request.headers.authorization).toBe('Bearer ghs_token')
    if (url.pathname === '/user')
      return send(...((login.endsWith('[bot]') ? [403, {}] : [200, { login }]) as [number, object]))
    if (request.method === 'GET') {
      const page = Number(url.searchParams.get('page'))
      return send(200, comments.slice((page - 1) * 100, page * 100))
    }
    if (!mayWrite) return send(403, { message: 'Resource not accessible by integration' })
    const { body } = JSON.parse(sent) as { body: string }
    if (body.length > 65_536) return send(422, { message: 'body is too long (maximum is 65536 characters)' })
    const id = Number(/\/issues\/comments\/(\d+)$/.exec(url.pathname)?.[1])
    const found = comments.find((each) => each.id === id)
    if (request.method === 'PATCH') found!.body = body
    else comments.push({ id: comments.length + 1, body, user: { login } })
    return send(200, { html_url: `http://github.test/pull/7#${id || comments.length}` })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, comments, calls, [Symbol.asyncDispose]: async () => void server.close() }
}

async function comment(url: string, reports: readonly string[], event: object = { pull_request: { number: 7 } }) {
  const folder = temporaryDirectory()
  const names = reports.map((report, index) => {
    const name = join(folder, `${index}.md`)
    writeFileSync(name, report)
    return name
  })
  writeFileSync(join(folder, 'event.json'), JSON.stringify(event))
  const env = {
    GITHUB_API_URL: url,
    GITHUB_SERVER_URL: 'http://github.test',
    GITHUB_EVENT_PATH: join(folder, 'event.json'),
    GITHUB_JOB: 'test',
    GITHUB_REPOSITORY: 'shop/app',
    GITHUB_RUN_ID: '42',
    GITHUB_TOKEN: 'ghs_token',
    GITHUB_WORKFLOW: 'CI --> main',
  }
  // A thread has arguments and an environment of its own, and starts in a fraction of the time of a process.
  const step = new Worker(script, { argv: [...names, join(folder, 'missing.md')], env, stdout: true, execArgv: [] })
  const [stdout] = await Promise.all([text(step.stdout), once(step, 'exit')])
  return stdout
}

const marker = '<!-- svc-sandbox CI%20%2D%2D%3E%20main%2Ftest -->'

test('the first run writes a comment, and the next one updates it', async () => {
  await using github = await openGithub()
  expect(await comment(github.url, ['## one\n', '## two\n'])).toBe('Wrote the comment http://github.test/pull/7#1\n')
  expect(github.comments.map(({ body }) => body)).toEqual([`${marker}\n## one\n\n## two\n`])
  expect(await comment(github.url, ['## three\n'])).toBe('Updated the comment http://github.test/pull/7#1\n')
  expect(github.comments.map(({ body }) => body)).toEqual([`${marker}\n## three\n`])
  expect(github.calls.filter((call) => !call.startsWith('GET'))).toEqual([
    'POST /repos/shop/app/issues/7/comments',
    'PATCH /repos/shop/app/issues/comments/1',
  ])
})

test.each(['github-actions[bot]', 'octocat'])(
  'the comment of %s is found among hundreds, and no other is',
  async (login) => {
    await using github = await openGithub({ login })
    const add = (body: string, author: string) =>
      github.comments.push({ id: github.comments.length + 1, body, user: { login: author } })
    add(`${marker}\n## ✅ passed, says somebody else`, 'stranger')
    for (let count = 0; count < 240; count++) add('a question', 'stranger')
    add(`> ${marker}\n quoted`, login)
    add(`${marker}\n## old`, login)
    const before = github.comments.slice(0, -1).map(({ body }) => body)
    await comment(github.url, ['## new\n'])
    expect(github.comments.slice(0, -1).map(({ body }) => body)).toEqual(before)
    expect(github.comments.at(-1)?.body).toBe(`${marker}\n## new\n`)
  },
)

test('a token that may only read is a warning, and the job goes on', async () => {
  await using github = await openGithub({ mayWrite: false })
  expect(await comment(github.url, ['## one\n'])).toMatch(
    /^::warning title=svc::No comment was written: .*pull-requests: write/,
  )
})

test('a run that belongs to no pull request calls nothing', async () => {
  await using github = await openGithub()
  expect(await comment(github.url, ['## one\n'], { ref: 'refs/heads/main' })).toContain('belongs to no pull request')
  expect(github.calls).toEqual([])
})

test('reports that are too long together are cut above their failures, with a link to the rest', async () => {
  await using github = await openGithub()
  const long = (name: string) =>
    `## ❌ ${name}: 900 of 901 cases failed\n\nLooked at it.\n\n### 900 failures\n\n${'x'.repeat(40_000)}\n`
  await comment(github.url, [long('one'), long('two')])
  expect(github.comments[0]?.body).toBe(
    `${marker}\n## ❌ one: 900 of 901 cases failed\n\nLooked at it.\n\n\n## ❌ two: 900 of 901 cases failed\n\nLooked at it.\n\n\nThe failures are in the job summary, because they are too long for a comment: http://github.test/shop/app/actions/runs/42\n`,
  )
})

test('without a report the comment says so', async () => {
  await using github = await openGithub()
  await comment(github.url, [])
  expect(github.comments[0]?.body).toContain('## ❌ svc wrote no report')
})

test('any other refusal fails the step', async () => {
  await expect(comment('http://127.0.0.1:9', ['## one\n'])).rejects.toThrow()
})
