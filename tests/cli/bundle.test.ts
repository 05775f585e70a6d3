/** A turn as a file: written, verified offline, changed, and looked at in another sandbox. */
import { execFileSync, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestCli, svc, type TestCli, temporaryDirectory } from './test-cli.ts'

let cli: TestCli
let folder: string
/** Without a sandbox: what is offline must not need one. */
const offline = { env: { SVC_HOME: temporaryDirectory() } }

beforeAll(async () => {
  cli = await startTestCli()
  folder = temporaryDirectory()
  await cli.svc('trigger --format banner')
})
afterAll(() => cli[Symbol.asyncDispose]())

test('the last turn is written, verified without a sandbox, and shown by another one', async () => {
  const file = join(folder, 'turn.html')
  const written = await cli.svc(`bundle create --out ${file}`)
  expect(written.stdout).toMatch(/^Wrote \S+turn\.html, \d+ kB: slot_\w+, would bill\.\n$/)
  expect((await cli.svc(`bundle create --out ${file}`)).stderr).toContain('exists')
  const verified = await svc(`evidence verify ${file}`, offline)
  expect([verified.code, verified.stdout]).toEqual([
    0,
    expect.stringMatching(/^The bundle is as it was signed, with \d/),
  ])
  const [pipe, chain] = [join(folder, 'pipe'), join(folder, 'chain.jsonl')]
  writeFileSync(chain, (await cli.svc('evidence export')).stdout)
  execFileSync('mkfifo', [pipe])
  for (const each of [file, chain]) {
    const writer = spawn('sh', ['-c', 'cat "$1" > "$2"', 'sh', each, pipe], { stdio: 'ignore' })
    expect(await svc(`evidence verify ${pipe}`, offline)).toEqual(await svc(`evidence verify ${each}`, offline))
    writer.kill()
  }
  await using other = await startTestCli()
  const imported = await other.svc(`bundle import ${file}`)
  expect(imported.stdout).toMatch(
    /^Imported 1 turn: http:\S+\/_sandbox\/bundles\/bun_\w+\nNothing was changed since (this|another) sandbox signed it\.\n$/,
  )
})

test('what was changed is named, by verify and by import, with exit code 5', async () => {
  const file = join(folder, 'changed.html')
  await cli.svc(`bundle create --out ${file}`)
  const page = await readFile(file, 'utf8')
  await writeFile(
    file,
    page.replace('"verdict":"accepted","reason_code":"OK"', '"verdict":"rejected","reason_code":"OK"'),
  )
  const verified = await svc(`evidence verify ${file} -o json`, offline)
  expect(verified.code).toBe(5)
  expect(JSON.parse(verified.stdout)).toMatchObject({
    ok: false,
    alterations: [expect.stringMatching(/^turn 1, beacon 1 \(render\) was changed$/)],
  })
  const imported = await cli.svc(`bundle import ${file}`)
  expect([imported.code, imported.stdout]).toEqual([5, expect.stringContaining('Changed since it was signed: turn 1')])
  await writeFile(file, page)
  const key = 'A'.repeat(43)
  expect((await svc(`evidence verify ${file} --public-key ${key}`, offline)).stdout).toContain('signed by another key')
})

test.each([
  ['bundle import nowhere.html', /nowhere\.html cannot be read/, 2],
  ['bundle create slot_00000000000', /No such slot/, 3],
  ['bundle create slot_00000000000 --session-id s', /SLOT and --session-id are both given/, 2],
])('%s is refused with a sentence', async (words, message, code) => {
  const result = await cli.svc(words)
  expect([result.code, result.stderr]).toEqual([code, expect.stringMatching(message)])
})
