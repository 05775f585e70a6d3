/** The recipes of Tests and CI: each is what its system reads, and its command lines run. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { svc, temporaryDirectory } from '#tests/cli/test-cli.ts'
import { blocksOf } from './markdown.ts'

const recipes = blocksOf('docs/guides/ci.md').filter(({ language }) => language === 'yaml' || language === 'groovy')

function recipe<T>(heading: string): T {
  return parse(recipes.find((block) => block.heading === heading)!.text) as T
}

/** A project whose `npm test` asks for an ad. */
function openProject() {
  const folder = temporaryDirectory()
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'npm'), `#!/bin/sh\nexec '${process.execPath}' ask.mjs\n`, { mode: 0o755 })
  writeFileSync(
    join(folder, 'ask.mjs'),
    `const { SVC_BASE_URL, SVC_CLIENT_ID, SVC_SECRET_KEY } = process.env
    await fetch(SVC_BASE_URL + '/v1/projects/' + SVC_CLIENT_ID + '/config', { headers: { authorization: 'Bearer ' + SVC_SECRET_KEY } })`,
  )
  const env = { PATH: [bin, process.env.PATH].join(delimiter), SVC_HOME: join(folder, 'home'), HOME: folder }
  const run = (script: string, more: Record<string, string> = {}) =>
    promisify(execFile)('sh', ['-ec', script], { cwd: folder, env: { ...env, ...more } })
  const runSvc = (line: string) => svc(line, { cwd: folder, env, system: { now: Date.now } })
  return { folder, run, runSvc }
}

const commandLines = [
  ...new Set(recipes.flatMap(({ text }) => [...text.matchAll(/npx --no svc-sandbox [^'\n]*/g)].map(([line]) => line))),
]

test('there is a command line in the recipe of each system', () => {
  const headings = [
    ...new Set(recipes.filter(({ text }) => text.includes('npx --no svc-sandbox')).map(({ heading }) => heading)),
  ]
  expect(headings).toEqual([
    'GitHub Actions',
    'GitLab CI',
    'CircleCI',
    'Azure Pipelines',
    'Bitbucket Pipelines',
    'Buildkite',
    'Jenkins',
  ])
  expect(commandLines.length).toBeGreaterThan(4)
})

async function runLine(line: string): Promise<void> {
  const { folder, runSvc } = openProject()
  const { code, stderr } = await runSvc(line.replace('npx --no svc-sandbox ', ''))
  expect(code, stderr).toBe(0)
  for (const [, file] of line.matchAll(/--reporter \w+=(\S+)/g))
    expect(existsSync(join(folder, file!)), file).toBe(true)
}

test.each(commandLines.slice(0, 1))('%s', runLine)
test.each(commandLines.slice(1))('%s', { tags: 'depth' }, runLine)

test('the paths that a recipe publishes are those that it writes', () => {
  const gitlab = recipe<{ test: { artifacts: { paths: string[]; reports: { junit: string } } } }>('GitLab CI').test
  expect([gitlab.artifacts.paths, gitlab.artifacts.reports.junit]).toEqual([['svc.md'], 'svc.xml'])
  const circle = recipe<{ jobs: { test: { steps: object[] } } }>('CircleCI').jobs.test.steps
  expect(circle).toContainEqual({ store_test_results: { path: 'reports' } })
  const azure = recipe<{ steps: { inputs?: { testResultsFiles?: string } }[] }>('Azure Pipelines').steps
  expect(azure.at(-1)?.inputs?.testResultsFiles).toBe('svc.xml')
  const bitbucket = recipe<{ pipelines: { 'pull-requests': { '**': { step: { artifacts: string[] } }[] } } }>(
    'Bitbucket Pipelines',
  )
  expect(bitbucket.pipelines['pull-requests']['**'][0]?.step.artifacts).toEqual(['svc.md'])
  expect(recipe<{ steps: object[] }>('Buildkite').steps).toHaveLength(3)
  const jenkins = recipes.find(({ heading }) => heading === 'Jenkins')!.text
  expect(jenkins.match(/[{}]/g)!.reduce((depth, brace) => depth + (brace === '{' ? 1 : -1), 0)).toBe(0)
})

test('GitLab gets the Markdown as a note, only of a merge request and only with a token', async () => {
  const notes: { url: string | undefined; token: unknown; body: string | null }[] = []
  const server = createServer(async (request, response) => {
    const text = (await request.toArray()).join('')
    notes.push({
      url: request.url,
      token: request.headers['private-token'],
      body: new URLSearchParams(text).get('body'),
    })
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const [script] = recipe<{ test: { after_script: [string] } }>('GitLab CI').test.after_script
    const { folder, run } = openProject()
    const report = '## ✅ svc observe: passed & 100 % done\n'
    writeFileSync(join(folder, 'svc.md'), report)
    const { port } = server.address() as AddressInfo
    const env = { CI_API_V4_URL: `http://127.0.0.1:${port}/api/v4`, CI_PROJECT_ID: '7', NOTE_TOKEN: 'glpat' }
    await run(script, env)
    await run(script, { ...env, CI_MERGE_REQUEST_IID: '42', NOTE_TOKEN: '' })
    expect(notes).toEqual([])
    await run(script, { ...env, CI_MERGE_REQUEST_IID: '42' })
    expect(notes).toEqual([{ url: '/api/v4/projects/7/merge_requests/42/notes', token: 'glpat', body: report }])
    expect(readFileSync(join(folder, 'svc.md'), 'utf8')).toBe(report)
  } finally {
    server.close()
  }
})

test('Azure gets the Markdown as a summary', async () => {
  const { steps } = recipe<{ steps: { script?: string }[] }>('Azure Pipelines')
  const { folder, run } = openProject()
  const { stdout } = await run(steps.find(({ script }) => script?.startsWith('echo'))!.script!)
  expect(stdout).toBe(`##vso[task.uploadsummary]${folder}/svc.md\n`)
})
