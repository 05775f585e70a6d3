/**
 * The collections of `svc contract openapi --for`, run by the tools that they are for, as they are, against a new sandbox: Postman by
 * newman, .http files by httpYac.
 */
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { type Sandbox, startSandbox } from '../../sandbox/index.ts'
import { type Collection, demoProject, describeCollection } from '../../src/judge/collections/collection.ts'
import { writeHttpFile } from '../../src/judge/collections/http-file.ts'
import { writePostman } from '../../src/judge/collections/postman.ts'
import { environment, run } from '../templates/run.ts'
import { temporaryDirectory } from '../temporary.ts'
import { installTools } from './tools.ts'

let tools = ''
beforeAll(async () => {
  tools = await installTools(dirname(inject('tools')), {}, join(import.meta.dirname, 'collection-tools.json'))
})

interface Ran {
  name: string
  status: number
  /** The names of checks that failed. */
  failed: string[]
}

/** Runs a collection with a tool. Resolves to its requests in the order in which they were sent. */
type Runner = (collection: Collection) => Promise<Ran[]>

const runners: Readonly<Record<string, Runner>> = {
  'Postman, by newman': async (collection) => {
    const folder = temporaryDirectory()
    writeFileSync(join(folder, 'api.json'), JSON.stringify(writePostman(collection)))
    const args = [
      'run',
      'api.json',
      '--reporters',
      'json',
      '--reporter-json-export',
      'ran.json',
      '--suppress-exit-code',
    ]
    await start('newman/bin/newman.js', args, folder)
    const { run: report } = readJson<NewmanReport>(join(folder, 'ran.json'))
    return report.executions.map(({ item, response, assertions = [] }) => ({
      name: item.name,
      status: response?.code ?? 0,
      failed: assertions.flatMap(({ assertion, error }) => (error === undefined ? [] : [assertion])),
    }))
  },

  '.http, by httpYac': async (collection) => {
    const folder = temporaryDirectory()
    writeFileSync(join(folder, 'api.http'), writeHttpFile(collection))
    // Without bodies: it exits before a pipe has taken more than 64 kB.
    const flags = ['--all', '--json', '--output', 'short', '--output-failed', 'short']
    const stdout = await start('httpyac/bin/httpyac.js', ['send', 'api.http', ...flags], folder)
    const { requests } = JSON.parse(stdout.slice(stdout.indexOf('{'))) as HttpYacReport
    return requests.map(({ title, response, testResults = [] }) => ({
      name: title,
      status: response?.statusCode ?? 0,
      failed: testResults.flatMap(({ status, message }) => (status === 'SUCCESS' ? [] : [message])),
    }))
  },
}

describe.each(Object.entries(runners))('%s', (_tool, runCollection) => {
  const times = 2

  test('every request succeeds, also a second time, and the ad would be billed', async () => {
    const sandbox = await startSandbox()
    onTestFinished(() => sandbox.close())
    const collection = collectionFor(sandbox)
    const wanted = collection.folders.flatMap(({ requests }) => requests)
    for (let time = 0; time < times; time++) {
      const ran = await runCollection(collection)
      expect(ran).toEqual(wanted.map(({ name, status }) => ({ name, status, failed: [] })))
    }
    const beacons = await listBeacons(sandbox)
    expect(beacons.filter(({ would_bill }) => would_bill).map(({ event }) => event)).toEqual(
      Array(times).fill('visible'),
    )
    expect(beacons.filter(({ verdict }) => verdict !== 'accepted')).toEqual([])
    expect(beacons.length).toBe(times * 4)
  })

  test('what fails is reported as failed', async () => {
    const sandbox = await startSandbox()
    onTestFinished(() => sandbox.close())
    await update(sandbox, { fill_rate: 0 })
    const ran = await runCollection(foldersFor(sandbox, 'Placement'))
    expect(ran.find(({ name }) => name === 'Wait for the decision')?.failed).toContainEqual(
      expect.stringContaining('decision.fill is true'),
    )
  })
})

// Handlers of .http files cannot repeat a request: it waits at the service, and is sent again by hand.
test.each(Object.entries(runners).filter(([tool]) => !tool.startsWith('.http')))(
  '%s: a decision that is pending is polled until it is there',
  async (_tool, runCollection) => {
    const sandbox = await startSandbox()
    onTestFinished(() => sandbox.close())
    await update(sandbox, { decision_latency_ms: 8_000 })
    const ran = await runCollection(withShortPolls(foldersFor(sandbox, 'Browser without a backend')))
    expect(ran.filter(({ failed }) => failed.length > 0)).toEqual([])
    expect(ran.filter(({ name }) => name === 'Wait for the decision, as a page').length).toBeGreaterThan(1)
  },
)

test('the official library reads the Postman collection without a loss', async () => {
  const folder = temporaryDirectory()
  const collection = collectionFor({ url: 'http://127.0.0.1:4010' })
  writeFileSync(join(folder, 'api.json'), JSON.stringify(writePostman(collection)))
  const program = `
    const { Collection } = require(${JSON.stringify(join(tools, 'node_modules/postman-collection'))})
    const read = new Collection(require('./api.json'))
    const requests = []
    read.forEachItem((item) => requests.push([item.name, item.request.method, item.request.url.toString(), item.responses.count()]))
    console.log(JSON.stringify({ requests, secrets: read.variables.filter(({ secret }) => secret).map(({ key }) => key) }))`
  const { requests, secrets } = JSON.parse(await run(process.execPath, ['--eval', program], folder)) as {
    requests: unknown[]
    secrets: string[]
  }
  expect(secrets).toEqual(['secret_key', 'activation_token'])
  expect(requests).toEqual(
    collection.folders.flatMap((each) =>
      each.requests.map(({ name, method, path, query, responses }) => {
        const sent = query.filter(({ is_sent }) => is_sent).map((row) => `${row.name}=${row.value}`)
        const url = `{{base_url}}${path}${sent.length === 0 ? '' : `?${sent.join('&')}`}`
        return [name, method, url, Object.keys(responses).length]
      }),
    ),
  )
})

function collectionFor({ url }: Pick<Sandbox, 'url'>): Collection {
  return describeCollection({ base_url: url, ...demoProject, control_token: null })
}

function foldersFor(sandbox: Sandbox, name: string): Collection {
  const collection = collectionFor(sandbox)
  return { ...collection, folders: collection.folders.filter((folder) => folder.name === name) }
}

/** Returns a collection whose polls return soon, so that one is not enough. */
function withShortPolls(collection: Collection): Collection {
  const folders = collection.folders.map((folder) => ({
    ...folder,
    requests: folder.requests.map((request) => ({
      ...request,
      query: request.query.map((row) => (row.name === 'wait_ms' ? { ...row, value: '1000' } : row)),
    })),
  }))
  return { ...collection, folders }
}

/** Resolves to the stdout of a tool. It exits with another code than 0 when a check failed: the report says which. */
function start(script: string, args: readonly string[], folder: string): Promise<string> {
  const env = { ...environment(), HOME: folder, DO_NOT_TRACK: '1' }
  return new Promise((resolve, reject) => {
    const words = [join(tools, 'node_modules', script), ...args]
    execFile(process.execPath, words, { cwd: folder, env }, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== 'number')
        reject(new Error(`${script} did not end by itself: ${stderr}`))
      else resolve(stdout)
    })
  })
}

async function update({ url }: Sandbox, settings: Record<string, number>): Promise<void> {
  const response = await fetch(`${url}/_sandbox/projects/${demoProject.client_id}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(settings),
  })
  expect(response.status).toBe(200)
}

async function listBeacons({ url }: Sandbox) {
  const response = await fetch(`${url}/_sandbox/beacons?limit=100`)
  const { items } = (await response.json()) as { items: { event: string; verdict: string; would_bill: boolean }[] }
  return items
}

function readJson<Value>(path: string): Value {
  return JSON.parse(readFileSync(path, 'utf8')) as Value
}

interface NewmanReport {
  run: {
    executions: {
      item: { name: string }
      response?: { code: number }
      assertions?: { assertion: string; error?: object }[]
    }[]
  }
}

interface HttpYacReport {
  requests: {
    title: string
    response?: { statusCode: number }
    testResults?: { message: string; status: string }[]
  }[]
}
