/** Named states and files of the sandbox, as they are typed. */

import { once } from 'node:events'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createOutput, type OutputOptions } from '#cli/output/output.ts'
import { guardStreams } from '#cli/run/guarded-streams.ts'
import { follow } from './follow.ts'
import { startScriptedService } from './scripted-service.ts'
import { keptStream, startTestCli, type TestCli, testHost } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
})
afterAll(() => cli?.[Symbol.asyncDispose]())
beforeEach(async () => {
  await cli.svc('sandbox reset')
  await cli.svc('sandbox snapshot delete one')
  for (const name of files()) rmSync(join(cli.home, name))
})

/** Exports in the folder of the commands. */
const files = () => readdirSync(cli.home).filter((name) => name.includes('.gz'))

const placements = async () => {
  const { stdout } = await cli.svc('placements list -o json')
  return (JSON.parse(stdout) as { items: unknown[] }).items.length
}

function terminalOutput(options: Partial<OutputOptions>) {
  const stderr = keptStream(true)
  const system = guardStreams(testHost({ env: {}, cwd: '/', stdin: '', stdout: keptStream(true), stderr }))
  return {
    stderr,
    out: createOutput(system, { format: 'text', quiet: false, color: 'never', isPaged: false, ...options }),
  }
}

/** The lines that were drawn over each other. */
const drawn = (text: string) => text.split('\u001b[G\u001b[K').map((line) => stripVTControlCharacters(line))

describe('sandbox snapshot', () => {
  test('saves, lists, restores and deletes', async () => {
    expect(await cli.svc('sandbox snapshot list')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No snapshots yet. Save one: svc sandbox snapshot save NAME\n',
    })
    const saved = await cli.svc('sandbox snapshot save one')
    expect(saved.code).toBe(0)
    expect(saved.stdout).toMatch(/^Saved one, \d+ kB\.\n$/)
    await cli.svc('placements create')
    const listed = await cli.svc('sandbox snapshot list')
    expect(listed.stdout).toMatch(/^name +saved +size +schema\none +\d{4}-\d\d-\d\dT?.* +\d+ kB +\d+\n$/i)
    expect(await cli.svc('sandbox snapshot restore one')).toEqual({
      code: 0,
      stdout: 'Restored one.\n',
      stderr: '',
    })
    expect(await placements()).toBe(0)
    expect((await cli.svc('sandbox snapshot delete one')).stdout).toBe('Deleted.\n')
    const gone = await cli.svc('sandbox snapshot restore one')
    expect([gone.code, gone.stdout]).toEqual([3, ''])
    expect(gone.stderr).toContain('There is no snapshot named one.')
  })

  test('refuses a name that is too long before it is sent: the head of a request has no room for it', async () => {
    const name = 'n'.repeat(10_000)
    for (const command of ['save', 'restore', 'delete']) {
      expect(await cli.svc(`sandbox snapshot ${command} ${name}`), command).toEqual({
        code: 2,
        stdout: '',
        stderr: 'error: name has 10,000 characters.\nhint: It can have at most 64.\n',
      })
    }
    const { code, stderr } = await cli.svc(`requests show ${name}`)
    expect([code, stderr]).toEqual([2, 'error: request_id has 10,000 characters.\nhint: It can have at most 1,000.\n'])
  })

  test('refuses a name that is taken, unless told to replace it', async () => {
    await cli.svc('sandbox snapshot save one')
    const taken = await cli.svc('sandbox snapshot save one -o json')
    expect([taken.code, taken.stdout]).toEqual([3, ''])
    expect(JSON.parse(taken.stderr)).toMatchObject({ error: { reason_code: 'snapshot_exists' } })
    expect((await cli.svc('sandbox snapshot save one --replace')).code).toBe(0)
  })
})

describe('sandbox export and import', () => {
  test('copy everything from one sandbox to another', async () => {
    await cli.svc('placements create')
    const file = join(cli.home, 'state.svc.gz')
    const exported = await cli.svc(`sandbox export ${file}`)
    expect([exported.code, exported.stderr]).toEqual([0, ''])
    expect(exported.stdout).toMatch(new RegExp(`^Wrote ${file}, \\d+ kB\\.\\n$`))
    await using other = await startTestCli()
    expect(await other.svc(`sandbox import ${file}`)).toEqual({
      code: 0,
      stdout: 'Restored state.svc.gz: 3 projects, 1 evidence entries verified.\n',
      stderr: '',
    })
    expect((await other.svc('placements list -o jsonl')).stdout.trim().split('\n')).toHaveLength(1)
  })

  test('on a terminal they show bytes and percent in a line that is gone at the end; else nothing', {
    tags: 'depth',
  }, async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    vi.advanceTimersByTime(1_000)
    const { out, stderr } = terminalOutput({})
    await out.bytes('POST /_sandbox/import', 4_000_000, async (done) => {
      done(1_000_000)
      done(1_500_000)
      vi.advanceTimersByTime(150)
      done(3_900_000)
      done(4_000_000)
    })
    expect(drawn(stderr.text)).toEqual([
      '',
      'POST /_sandbox/import  1.0 of 4.0 MB  25 %',
      'POST /_sandbox/import  3.9 of 4.0 MB  97 %',
      'POST /_sandbox/import  4.0 MB sent, waiting for the response',
      '',
    ])
    vi.advanceTimersByTime(150)
    const long = terminalOutput({})
    await long.out.bytes('x'.repeat(200), null, async (done) => done(5_000_000))
    expect(drawn(long.stderr.text)[1]).toBe(`${'x'.repeat(71)}  5.0 MB`)
    for (const none of [terminalOutput({ format: 'json' }), terminalOutput({ quiet: true })]) {
      await none.out.bytes('x', 10, async (done) => done(5))
      expect(none.stderr.text).toBe('')
    }
    vi.useRealTimers()
    const file = join(cli.home, 'shown.svc.gz')
    const shown = await cli.svc(`sandbox export ${file}`, { isTerminal: true })
    expect(drawn(shown.stderr)).toContainEqual(
      expect.stringMatching(/^GET \/_sandbox\/export: writing the file {2}\d\.\d MB$/),
    )
    const imported = await cli.svc(`sandbox import ${file}`, { isTerminal: true })
    expect(drawn(imported.stderr)).toContainEqual(
      expect.stringMatching(/^POST \/_sandbox\/import {2}\d\.\d MB sent, waiting for the response$/),
    )
    expect([drawn(shown.stderr).at(-1), drawn(imported.stderr).at(-1)]).toEqual(['', ''])
  })

  test('an import into a store that nodes share asks, or takes --yes', { tags: 'depth' }, async () => {
    await using shared = await startScriptedService(cli.sandbox.url, '\0')
    shared.script = (real, endpoint) =>
      endpoint?.path === '/_sandbox/info' ? { ...real, body: real.body.replace('"nodes":null', '"nodes":[]') } : real
    await cli.svc('sandbox export state.svc.gz')
    const line = `sandbox import state.svc.gz --base-url ${shared.url}`
    expect(await cli.svc(line)).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'error: Nothing was imported: :memory: is shared.\nhint: To replace its state: svc sandbox import state.svc.gz --yes\n',
    })
    const atTerminal = { isTerminal: true, system: { stdin_is_terminal: true } }
    const refused = await cli.svc(line, { ...atTerminal, stdin: 'n\n' })
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('Replace the state of :memory:')])
    for (const [given, options] of [
      [`${line} --yes`, {}],
      [line, { ...atTerminal, stdin: 'y\n' }],
    ] as const)
      expect((await cli.svc(given, options)).code, given).toBe(0)
  })

  test('Ctrl-C ends an import, and says what became of the state', async () => {
    await cli.svc('sandbox export')
    const { promise: arrived, resolve } = Promise.withResolvers<void>()
    // It has the file, and does not respond: it is verifying.
    const service = createServer((request) => void request.resume().once('end', resolve)).listen(0, '127.0.0.1')
    await once(service, 'listening')
    const { port } = service.address() as AddressInfo
    const options = { env: { SVC_HOME: cli.home }, system: { cwd: cli.home } }
    const importing = follow(`sandbox import sandbox.svc.gz --yes --base-url http://127.0.0.1:${port}`, options)
    await arrived
    importing.signal()
    const state = 'The sandbox keeps its state as it was, unless all of the file had just replaced it.'
    expect(await importing.ended).toEqual({
      code: 130,
      stdout: '',
      stderr: `error: Interrupted by SIGINT. ${state}\nhint: See which: svc beacons list\n`,
    })
    service.closeAllConnections()
    service.close()
  })

  test('an export replaces no file unasked, and leaves no partial file', async () => {
    expect((await cli.svc('sandbox export')).code).toBe(0)
    const again = await cli.svc('sandbox export')
    expect([again.code, again.stdout]).toEqual([2, ''])
    expect(again.stderr).toContain('sandbox.svc.gz exists.')
    expect((await cli.svc('sandbox export --overwrite')).code).toBe(0)
    const nowhere = await cli.svc('sandbox export none/here.svc.gz')
    expect([nowhere.code, nowhere.stdout]).toEqual([2, ''])
    expect(nowhere.stderr).toContain('none/here.svc.gz cannot be written: its directory does not exist.\n')
    expect(files()).toEqual(['sandbox.svc.gz'])
  })

  test('an export that gets no response keeps the existing file', async () => {
    writeFileSync(join(cli.home, 'sandbox.svc.gz'), 'the one before')
    const failed = await cli.svc('sandbox export --overwrite --base-url http://127.0.0.1:1')
    expect([failed.code, failed.stdout]).toEqual([7, ''])
    expect(files()).toEqual(['sandbox.svc.gz'])
  })

  test('an import of anything else changes nothing and says why', async () => {
    await cli.svc('placements create')
    const file = join(cli.home, 'notes.txt')
    writeFileSync(file, 'not an export')
    const refused = await cli.svc(`sandbox import ${file}`)
    expect([refused.code, refused.stdout]).toEqual([3, ''])
    expect(refused.stderr).toContain('archive_invalid')
    const missing = await cli.svc('sandbox import nothing.svc.gz')
    expect([missing.code, missing.stdout]).toEqual([2, ''])
    expect(missing.stderr).toContain('nothing.svc.gz cannot be read: no such file.\n')
    expect(await placements()).toBe(1)
  })
})
