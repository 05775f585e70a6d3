/** The single binary in an empty folder, on a machine without Node. */
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { beforeAll, expect, test } from 'vitest'
import { type Program, placesEachFormat, runsCommands, svc, withSandbox } from '#tests/install/program.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

const checkout = join(import.meta.dirname, '../..')
/** 112 MB, counted as computers show them: Node alone is 105.5 million bytes. */
const largest_bytes = 112 * 2 ** 20
const folder = temporaryDirectory()
const home = temporaryDirectory()
/** Nothing can be written there: the path leads through a file. */
const readOnlyHome = join(checkout, 'package.json', 'home')
const env = { HOME: home, PATH: '/usr/bin:/bin', NO_COLOR: '1' }
let binary: string

beforeAll(() => {
  const directory = temporaryDirectory()
  execFileSync(process.execPath, [join(checkout, 'build/package.ts'), '--out', directory], { stdio: 'inherit' })
  binary = globSync(`${directory}/svc-*-x64`)[0]!
  // A minute of one core, which it shares with the installs of other files.
})

test('is no larger than promised, and its sum is beside it', () => {
  expect(statSync(binary).size).toBeLessThan(largest_bytes)
  expect(execFileSync('sha256sum', [binary], { encoding: 'utf8' }).split(' ')[0]).toBe(
    readFileSync(`${binary}.sha256`, 'utf8').split(' ')[0],
  )
})

test('its notices are those of the package, of Node, and of what is installed beside the package elsewhere', () => {
  const notices = readFileSync(join(dirname(binary), 'THIRD-PARTY-NOTICES.txt'), 'utf8')
  const named = [...notices.matchAll(/^ {2}(\S+) \S+ \(.+\)$/gm)].map(([, name]) => name)
  expect(named).toEqual(expect.arrayContaining(['commander', 'node', 'better-sqlite3', 'pg', 'postgres-array']))
  expect(notices).toContain('Copyright Node.js contributors. All rights reserved.')
})

test('does what the package does, in an empty folder without Node on the path and with a home that cannot be written', async () => {
  const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { version: string }
  // A sandbox on a file needs a place for its state, as the refusal without one says.
  const own = { HOME: readOnlyHome, SVC_HOME: join(folder, 'state') }
  const program: Program = { command: [binary], cwd: folder, env: { ...env, ...own } }
  await placesEachFormat(program)
  await runsCommands(program, version)
})

test('has what is loaded only when it is asked for: jq, the driver of --store, the inspector', async () => {
  const program: Program = { command: [binary], cwd: folder, env }
  await withSandbox(program, ['--ephemeral'], async (url) => {
    const create = ['placements', 'create', '--format', 'banner', '--base-url', url, '--quiet']
    expect(await svc(program, [...create, '--jq', '.decision | [.fill, .format] | @csv'])).toEqual({
      code: 0,
      output: 'true,"banner"\n',
    })
    const page = await (await fetch(`${url}/_sandbox/`)).text()
    const parts = [...page.matchAll(/(?:src|href)="(\/_sandbox\/[^"]+\.(?:js|css))"/g)].map(([, path = '']) => path)
    expect(parts.length).toBeGreaterThan(0)
    for (const path of parts) expect((await fetch(`${url}${path}`)).status, path).toBe(200)
  })
  const unreachable = await svc(program, ['start', '--port', '0', '--store', 'postgres://svc:secret@127.0.0.1:1/svc'])
  expect(unreachable).toEqual({
    code: 2,
    output:
      'error: postgres://svc@127.0.0.1:1/svc cannot be reached: connect ECONNREFUSED 127.0.0.1:1.\n' +
      'hint: Check that PostgreSQL runs there and accepts connections from this computer.\n',
  })
})

test('serves coding agents over stdio', async () => {
  const client = new Client({ name: 'test', version: '1.0.0' })
  const transport = new StdioClientTransport({
    command: binary,
    args: ['agent', 'mcp'],
    cwd: folder,
    env,
    stderr: 'inherit',
  })
  await client.connect(transport as Parameters<Client['connect']>[0])
  try {
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toContain('create_placement')
  } finally {
    await client.close()
  }
})

test('prints its version about as fast as Node starts', async () => {
  const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { version: string }
  const program: Program = { command: [binary], cwd: folder, env }
  for (const spelling of ['--version', '-V', '-v', 'version'])
    expect(await svc(program, [spelling])).toEqual({ code: 0, output: `${version}\n` })
  const times = { version: Number.POSITIVE_INFINITY, node: Number.POSITIVE_INFINITY }
  // The best of many: other work on the computer makes some longer, and none shorter. 1.0 to 1.3 times are usual.
  for (let round = 0; round < 40 && (round < 5 || times.version >= 2 * times.node); round++) {
    times.version = Math.min(times.version, await measureTime(() => svc(program, ['--version'])))
    times.node = Math.min(
      times.node,
      await measureTime(() => svc({ ...program, command: [process.execPath] }, ['-e', '0'])),
    )
  }
  expect(times.version).toBeLessThan(2 * times.node)
})

test('takes about the processor time of the checkout to be ready', async () => {
  const commands = { binary: [binary], checkout: [process.execPath, join(checkout, 'bin/svc.js')] }
  const least = { binary: Number.POSITIVE_INFINITY, checkout: Number.POSITIVE_INFINITY }
  // The best of many, in turn: other work on the computer adds to some rounds, and takes from none.
  for (let round = 0; round < 15 && (round < 3 || least.binary >= 2 * least.checkout); round++) {
    for (const name of ['binary', 'checkout'] as const) {
      const program: Program = { command: commands[name], cwd: folder, env }
      await withSandbox(program, ['--ephemeral'], async (_url, pid) => {
        least[name] = Math.min(least[name], readProcessorTicks(pid))
      })
    }
  }
  expect(least.binary).toBeLessThan(2 * least.checkout)
})

/** Returns the processor time of a process until now, in hundredths of a second. */
function readProcessorTicks(pid: number): number {
  const [, , , ...fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(/\) | /)
  // utime and stime.
  return Number(fields[10]) + Number(fields[11])
}

async function measureTime(call: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await call()
  return performance.now() - started
}
