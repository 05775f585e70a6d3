/** Evidence as a file: exported, verified offline, tampered with. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestCli, svc, type TestCli, temporaryDirectory } from './test-cli.ts'

let cli: TestCli
let whole: string[]
/** Without a sandbox: what is offline must not need one. */
const offline = { env: { SVC_HOME: temporaryDirectory() } }

beforeAll(async () => {
  cli = await startTestCli()
  for (const topic of ['coffee', 'tea']) {
    await cli.svc(`placements create --format banner --topic ${topic}`)
    await cli.svc('beacons send --event render')
  }
  await cli.svc('placements create --client-id proj_other')
  whole = (await cli.svc('evidence export')).stdout.split('\n')
})
afterAll(() => cli[Symbol.asyncDispose]())

/** Verifies lines as a file, offline. */
async function verify(lines: readonly string[], flags = '') {
  const path = join(offline.env.SVC_HOME, 'case.jsonl')
  await writeFile(path, lines.join('\n'))
  const { code, stdout } = await svc(`evidence verify ${path} -o json ${flags}`, offline)
  const found = JSON.parse(stdout) as {
    ok: boolean
    public_keys: string[]
    chains: { client_id: string; entries: number; broken_at: number | null; problem: string | null }[]
  }
  expect(code).toBe(found.ok ? 0 : 5)
  return found
}

function edited(at: number, change: (line: Record<string, unknown>) => object): string[] {
  return whole.with(at, JSON.stringify(change(JSON.parse(whole[at]!) as Record<string, unknown>)))
}

describe('an export', () => {
  test('has the entries of each project and a signed checkpoint after them, and verifies offline', async () => {
    const lines = whole.filter((line) => line !== '').map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(lines.map(({ line, client_id, seq }) => [line, client_id, seq ?? null])).toEqual([
      ...[1, 2, 3, 4, 5, 6].map((seq) => ['entry', 'proj_demo', seq]),
      ['checkpoint', 'proj_demo', null],
      ['entry', 'proj_other', 1],
      ['checkpoint', 'proj_other', null],
      ['checkpoint', 'proj_strict', null],
      ['manifest', null, null],
    ])
    expect(lines[6]).toMatchObject({ entries: 6, head: lines[5]!.hash, at_ms: 1_769_860_800_000 })
    const { ok, chains, public_keys } = await verify(whole)
    expect([ok, chains.map(({ entries, problem }) => [entries, problem])]).toEqual([
      true,
      [
        [6, null],
        [1, null],
        [0, null],
      ],
    ])
    expect(public_keys).toEqual([lines[6]!.public_key])
  })

  test('goes to a file, complete or not at all, for one project when asked', async () => {
    const { code, stdout, stderr } = await cli.svc('evidence export one.jsonl --client-id proj_other')
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toBe(`Wrote ${join(cli.home, 'one.jsonl')}, 3 lines.\n`)
    const one = await readFile(join(cli.home, 'one.jsonl'), 'utf8')
    expect(one.split('\n').slice(0, 2)).toEqual(whole.slice(7, 9))
    expect(JSON.parse(one.split('\n')[2]!)).toMatchObject({ line: 'manifest', client_id: 'proj_other', chains: [{}] })
    const again = await cli.svc('evidence export one.jsonl')
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('or --force to replace it') })
    // --force would not help.
    expect((await cli.svc('evidence export .')).stderr).toContain(' is a folder.\nhint: Give the name of a file in it.')
    const failed = await cli.svc('evidence export one.jsonl --force --client-id proj_nobody')
    expect(failed.code).toBe(2)
    expect(await readFile(join(cli.home, 'one.jsonl'), 'utf8')).toBe(one)
    expect((await readdir(cli.home)).filter((name) => name.endsWith('.part'))).toEqual([])
    expect((await cli.svc('evidence export nowhere/one.jsonl')).code).toBe(2)
    expect((await cli.svc('evidence export one.jsonl --force')).code).toBe(0)
    expect(await readFile(join(cli.home, 'one.jsonl'), 'utf8')).not.toBe(one)
  })

  test('takes its file as an argument', async () => {
    expect((await cli.svc('evidence export named.jsonl')).code).toBe(0)
    expect((await readFile(join(cli.home, 'named.jsonl'), 'utf8')).split('\n')).toEqual(whole)
    const { code, stderr } = await cli.svc('evidence export --file other.jsonl')
    expect([code, stderr]).toEqual([2, expect.stringContaining('It is an argument')])
  })

  test('prints a table of its chains', async () => {
    await cli.svc('evidence export all.jsonl')
    const { stdout } = await cli.svc('evidence verify all.jsonl')
    expect(stdout.replace(/[0-9a-f]{16}/g, '<hash>').replace(/by [\w-]{43}/, 'by <key>')).toBe(`\
project      chain  entries  head              problem
proj_demo    holds        6  <hash>  -
proj_other   holds        1  <hash>  -
proj_strict  holds        0  -                 -
signed by <key>
`)
  })
})

describe('every manipulation of an export is found', () => {
  const cases: [string, () => string[], number, RegExp][] = [
    ['an entry changed', () => edited(2, (line) => ({ ...line, entry: `${line.entry} ` })), 3, /hash of entry 3/],
    ['a hash changed', () => edited(2, (line) => ({ ...line, hash: '0'.repeat(64) })), 3, /hash of entry 3/],
    ['an entry removed', () => whole.toSpliced(1, 1), 2, /Entry 2 is missing/],
    ['the first entry removed', () => whole.toSpliced(0, 1), 1, /Entry 1 is missing/],
    ['two entries exchanged', () => whole.with(3, whole[4]!).with(4, whole[3]!), 4, /Entry 4 is missing/],
    ['the last entries removed', () => whole.toSpliced(4, 2), 5, /signed over 6 entries/],
    ['the checkpoint removed', () => whole.toSpliced(6, 1), 7, /Line 7: The checkpoint of proj_demo is missing/],
    [
      'the end removed with its checkpoint',
      () => whole.toSpliced(3, 4),
      4,
      /Line 4: The checkpoint of proj_demo is missing/,
    ],
    ['a line torn', () => whole.with(5, whole[5]!.slice(0, 40)), 6, /Line 6: It is not a line/],
    ['a project removed', () => whole.toSpliced(7, 2), 1, /Line 9: The manifest lists proj_other as chain 2/],
    [
      'an entry after the checkpoint',
      () => whole.toSpliced(7, 0, whole[0]!),
      1,
      /Line 8: The chain of proj_demo has already ended/,
    ],
    [
      'the end removed and the count of the checkpoint changed',
      () => edited(6, (line) => ({ ...line, entries: 5, head: JSON.parse(whole[4]!).hash as string })).toSpliced(5, 1),
      6,
      /signature/,
    ],
  ]
  test.each(cases)('%s', async (_, lines, broken_at, problem) => {
    const { ok, chains } = await verify(lines())
    const broken = chains.find((chain) => chain.problem !== null)
    expect([ok, broken?.broken_at]).toEqual([false, broken_at])
    expect(broken?.problem).toMatch(problem)
  })

  test('a file cut anywhere does not verify', async () => {
    const text = whole.join('\n')
    const ends = whole.map((_, index) => whole.slice(0, index).join('\n').length)
    for (const length of [...ends.slice(0, -1), ...Array.from({ length: 20 }, (_, index) => index * 211)]) {
      expect([length, (await verify([text.slice(0, length)])).ok]).toEqual([length, false])
    }
  })

  test('signed by another key than the given one', async () => {
    const { public_keys } = await verify(whole)
    expect((await verify(whole, `--public-key ${public_keys[0]}`)).ok).toBe(true)
    expect((await cli.svc('evidence verify whole.jsonl --public-key nonsense')).stderr).toContain('43 characters')
    const { ok, chains } = await verify(whole, `--public-key ${'A'.repeat(43)}`)
    expect([ok, chains[0]!.problem]).toEqual([
      false,
      `Line 7: The checkpoint was signed by another key: ${public_keys[0]}.`,
    ])
  })

  test('a file that is no export, and a missing one', async () => {
    expect(await verify(['hello'])).toMatchObject({ ok: false, chains: [{ client_id: '-', broken_at: 1 }] })
    expect(await verify([''])).toMatchObject({ ok: false, chains: [{ problem: 'Line 1: It is empty.' }] })
    const missing = await svc('evidence verify nowhere.jsonl', offline)
    expect([missing.code, missing.stdout]).toEqual([2, ''])
    expect(missing.stderr).toContain('nowhere.jsonl cannot be read')
  })
})

describe('svc evidence tamper', () => {
  test('changes one entry of a copy; export and sandbox do not change', async () => {
    await cli.svc('evidence export original.jsonl')
    const before = await readFile(join(cli.home, 'original.jsonl'), 'utf8')
    for (const [flags, project, seq] of [
      ['', 'proj_demo', 1],
      ['--seq 4', 'proj_demo', 4],
      ['--client-id proj_other', 'proj_other', 1],
    ] as const) {
      const tampered = await cli.svc(`evidence tamper original.jsonl copy.jsonl ${flags}`)
      expect(tampered).toMatchObject({ code: 0, stdout: '' })
      expect(tampered.stderr).toMatch(
        new RegExp(
          `^Changed entry ${seq} of ${project} in .*copy\\.jsonl\\. To see it found: svc evidence verify copy\\.jsonl$`,
          'm',
        ),
      )
      const { code, stdout } = await cli.svc('evidence verify copy.jsonl -o json')
      expect(code).toBe(5)
      const { chains } = JSON.parse(stdout) as { chains: { client_id: string; broken_at: number | null }[] }
      expect(chains.find(({ broken_at }) => broken_at !== null)).toMatchObject({ client_id: project, broken_at: seq })
    }
    expect(await readFile(join(cli.home, 'original.jsonl'), 'utf8')).toBe(before)
    expect((await cli.svc('evidence verify')).code).toBe(0)
  })

  test('needs another file to write to, and an existing entry', async () => {
    expect((await cli.svc('evidence tamper original.jsonl original.jsonl')).code).toBe(2)
    const missing = await cli.svc('evidence tamper original.jsonl never.jsonl --seq 99')
    expect(missing.code).toBe(2)
    expect(missing.stderr).toContain('has no entry 99 to change')
    expect(await readdir(cli.home)).not.toContain('never.jsonl')
  })
})
