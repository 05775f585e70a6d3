/** The server for coding agents, by the command line of the official inspector: over stdio, and over HTTP. */
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { startSandbox } from '../../sandbox/index.ts'
import { checkout, run } from '../templates/run.ts'
import { temporaryDirectory } from '../temporary.ts'
import { installTools } from './tools.ts'

const launcher = 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js'
let tools = ''

beforeAll(async () => {
  // Beside the others, where later runs find it again.
  tools = await installTools(dirname(inject('tools')), {}, join(import.meta.dirname, 'inspector-tools.json'))
})

/** Runs the inspector against a command or a URL. Returns the JSON that it prints. */
async function inspect<Result>(...words: string[]): Promise<Result> {
  const home = temporaryDirectory()
  const env = { HOME: home, SVC_HOME: home }
  const patient = ['--connect-timeout', '120000']
  const stdout = await run(process.execPath, [join(tools, launcher), '--cli', ...patient, ...words], home, env)
  return JSON.parse(stdout.slice(stdout.indexOf('{'))) as Result
}

interface Called {
  content: { text: string }[]
  structuredContent?: { result?: Record<string, unknown> }
}

interface Listed {
  name: string
  outputSchema?: { type: string }
}

describe('the inspector lists the tools of svc agent mcp, and calls one', () => {
  const server = [process.execPath, join(checkout, 'bin/svc.js'), 'agent', 'mcp', '--start']
  const list = ['--method', 'tools/list']
  const call = ['--method', 'tools/call', '--tool-name', 'create_placement']

  test('whose results are text', async () => {
    const { tools: listed } = await inspect<{ tools: Listed[] }>(...server, ...list)
    expect(listed.map(({ name }) => name)).toContain('list')
    const called = await inspect<Called>(...server, ...call)
    expect(called.structuredContent).toBeUndefined()
    expect(JSON.parse(called.content[0]!.text).result).toMatchObject({ status: 'ready' })
  })

  test('all of them, with schemas of their results', async () => {
    const all = [...server, '--tools', 'all']
    const { tools: listed } = await inspect<{ tools: Listed[] }>(...all, ...list)
    expect(listed.map(({ name }) => name)).toContain('explain_placement')
    expect(listed.filter(({ outputSchema }) => outputSchema?.type !== 'object')).toEqual([])
    const called = await inspect<Called>(...all, ...call)
    expect(called.structuredContent?.result).toMatchObject({ status: 'ready' })
    expect(JSON.parse(called.content[0]!.text)).toEqual(called.structuredContent)
  })
})

test('it reaches a sandbox over HTTP, with the type of each argument', async () => {
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const words = ['--method', 'tools/call', '--tool-name', 'advance_clock', '--tool-arg', 'by_ms=5000']
  const url = `${sandbox.url}/_sandbox/mcp?tools=all`
  const { content } = await inspect<Called>(url, ...words)
  expect(JSON.parse(content[0]!.text).result.offset_ms).toBeGreaterThanOrEqual(5_000)
  const read = ['--method', 'resources/read', '--uri', 'svc://docs/errors/key_class']
  const { contents } = await inspect<{ contents: { text: string }[] }>(url, ...read)
  expect(contents[0]!.text).toContain('# key_class')
})
