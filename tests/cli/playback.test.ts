/** `svc start --playback`: what it prints, what it refuses, and how far it got. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { record } from '#tests/http/recorded.ts'
import { asked, key } from '#tests/http/stage.ts'
import { startInProcess } from './in-process.ts'
import { type RunOptions, svc, temporaryDirectory } from './test-cli.ts'

const folder = temporaryDirectory()
const file = join(folder, 'coffee.har')
const config = join(folder, 'svc.json')

beforeAll(async () => {
  const recording = await record(async ({ api }) => {
    await api.accept('placements.create', { as: key, body: asked({ session_id: 'one' }) })
    const { body } = await api.accept('placements.create', { as: key, body: asked({ session_id: 'two' }) })
    await api.accept('decisions.get', { as: key, params: { slot_id: body.slot_id } })
  })
  writeFileSync(file, recording)
  writeFileSync(config, JSON.stringify({ sandbox: { playback: 'coffee.har', fallback: true } }))
})

const options = (env: RunOptions['env'] = {}): RunOptions => ({
  env: { SVC_HOME: temporaryDirectory(), ...env },
  cwd: folder,
  system: { now: Date.now },
})

/** Starts a sandbox that plays, and resolves when it is ready. The recording is of 1 January 2026. */
async function play(args: string, env?: RunOptions['env']) {
  const own = options(env)
  const playing = await startInProcess(args, own)
  return { ...playing, run: (line: string) => svc(line, own) }
}

describe('svc start --playback', () => {
  test('shows what is played, and at the end what was and was not', async () => {
    await using playing = await play('--playback coffee.har --max-age 36500d')
    const { run } = playing
    expect((await run('placements create --session now --expect fill')).code).toBe(0)
    const missing = await run('api jobs.create')
    expect(missing).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('The recording has no request to this path.'),
    })
    const { stdout: status } = await run('sandbox status')
    expect(status).toMatch(/^plays +.*coffee\.har$/m)
    expect(status).toMatch(/^played +1 of 3 recorded exchanges$/m)
    expect(status).toMatch(/^never asked for +1 x POST \/v1\/placements, 1 x GET \/v1\/decisions\/\{slot_id\}$/m)
    expect(status).toMatch(/^not recorded +1 request$/m)
    const { code, stdout, stderr } = await playing.end()
    expect(stdout).toMatch(/^ {2}plays +.*coffee\.har, 3 exchanges of 2 sessions$/m)
    expect(stdout).toMatch(/^ {2}recorded +2026-01-01/m)
    expect(stdout).toMatch(/^ {2}not recorded +refused with not_recorded, 404$/m)
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: [
        'SIGTERM: stopping',
        'Played 1 of 3 recorded exchanges.',
        'Never asked for: 1 x POST /v1/placements, 1 x GET /v1/decisions/{slot_id}.',
        '1 request was not recorded: refused with not_recorded.',
        'stopped',
        '',
      ].join('\n'),
    })
  })

  test.each([
    ['', ['placements list', 'requests list']],
    [' --fallback', ['placements create --format banner --topic coffee', 'placements list', 'requests list']],
  ])('--playback%s offers to try what it does not refuse', async (fallback, commands) => {
    await using playing = await play(`--playback coffee.har --max-age 36500d${fallback}`)
    for (const command of commands) expect((await playing.run(command)).code, command).toBe(0)
    const { stdout } = await playing.end()
    const tried = /^Try, .*\n((?: {2}.*\n)+)/m.exec(stdout)?.[1] ?? ''
    expect(tried.match(/(?<=^ {2}\S*svc ).*/gm)).toEqual(commands)
  })

  test('never by the config file of a repository alone: a start says how to play it', async () => {
    await using playing = await play(`-o json --config ${config}`)
    expect(JSON.parse(playing.firstLine)).not.toHaveProperty('playback')
    const note = `Not played, since only ${config} names it. To play it: --playback ${file}\n`
    expect(await playing.end()).toMatchObject({ code: 0, stderr: expect.stringContaining(note) })
  })

  test('by variable, with options of the config file; a recording that is old warns', async () => {
    await using playing = await play(`-o json --config ${config}`, { SVC_PLAYBACK: file, SVC_MAX_AGE: '1d' })
    expect(JSON.parse(playing.firstLine)).toMatchObject({
      playback: { file, creator: 'svc 1.0.0', exchanges: 3, sessions: 2, fallback: true },
    })
    expect((await playing.run('api jobs.create')).code).toBe(0)
    const { stderr } = await playing.end()
    expect(stderr).toContain(`warning: ${file} is of 2026-01-01, `)
    expect(stderr).toContain('old, and at most 1d is expected: record it again\n')
    expect(stderr).toContain('1 request was not recorded: the emulator responded.\n')
  })

  test.each(['1e400', '123456789012345678901234567890', '3000000000'])(
    'leaves out a width of %s, and names it',
    async (width) => {
      const har = JSON.parse(readFileSync(file, 'utf8')) as {
        log: { entries: { response: { content: { text: string } } }[] }
      }
      const { content } = har.log.entries[0]!.response
      content.text = content.text.replace(/("placement":\{.*?"width":)\d+/s, `$1${width}`)
      expect(content.text).toContain(`"width":${width}`)
      writeFileSync(join(folder, 'large.har'), JSON.stringify(har))
      await using playing = await play('-o json --playback large.har --max-age 36500d --fallback')
      expect(JSON.parse(playing.firstLine)).toMatchObject({ playback: { exchanges: 2 } })
      expect((await playing.run('placements create --session one --expect fill')).code).toBe(0)
      const { stderr } = await playing.end()
      expect(stderr).toContain(
        '1 recorded fills have a number that is too large and are not played, the first is entry 1: width',
      )
    },
  )

  test('svc exec plays too', async () => {
    const script = `
      import { writeFileSync } from 'node:fs'
      const { SVC_BASE_URL, SVC_SECRET_KEY } = process.env
      const headers = { authorization: 'Bearer ' + SVC_SECRET_KEY }
      const response = await fetch(SVC_BASE_URL + '/v1/jobs', { method: 'POST', headers })
      writeFileSync('seen', response.status + ' ' + response.headers.get('x-sandbox-source'))`
    writeFileSync(join(folder, 'call.mjs'), script)
    const words = `exec --playback ${file} --max-age 36500d -q -- ${process.execPath} call.mjs`
    const { code } = await svc(words, options())
    const seen = readFileSync(join(folder, 'seen'), 'utf8')
    expect({ code, seen }).toEqual({ code: 0, seen: '404 emulator' })
  })
})

describe('is refused', () => {
  const other = join(folder, 'other.har')
  const start = (args: string) => svc(`start --port 0 --ephemeral ${args}`, options())

  test('a file that is not there, is no HAR file, or has nothing of this API', async () => {
    const missing = await start('--playback nowhere.har')
    expect(missing).toMatchObject({ code: 2, stdout: '' })
    expect(missing.stderr).toMatch(/^error: .*nowhere\.har cannot be read: .*\.\nhint: /)
    writeFileSync(other, '{"log": {}}')
    expect((await start('--playback other.har')).stderr).toContain(
      'other.har is not a HAR file: it has no log.entries.\n',
    )
    const entry = {
      startedDateTime: '2026-01-01T00:00:00Z',
      time: 1,
      request: { method: 'GET', url: 'https://a.example/', headers: [] },
      response: { status: 200, headers: [], content: {} },
    }
    writeFileSync(other, JSON.stringify({ log: { entries: [entry, entry] } }))
    const { code, stderr } = await start('--playback other.har')
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `error: ${other} has nothing to play: of its entries, 2 of another API or page.\nhint: A recording is a HAR file: of svc requests export, or of the network panel of a browser.\n`,
    })
  })

  test('a recording that is too old, with --strict-age', async () => {
    const { code, stderr } = await start('--playback coffee.har --strict-age')
    expect(code).toBe(2)
    expect(stderr).toMatch(
      /^error: .*coffee\.har is of 2026-01-01, \d+d old, and at most 30d is expected\.\nhint: Record it again, or allow more with --max-age\.\n$/,
    )
  })

  test('its options without a recording, a time that is none, and a database that nodes share', async () => {
    expect((await start('--fallback')).stderr).toBe(
      'error: fallback, max_age and strict_age are options of a playback.\nhint: Name the recording: svc start --playback FILE\n',
    )
    expect((await start('--playback coffee.har --max-age soon')).stderr).toContain(
      'It must be a time such as 30d or 12h.',
    )
    expect((await svc(`start --playback ${file} --store postgres://127.0.0.1:1/none`, options())).stderr).toContain(
      "Option '--playback <file>' cannot be used with option '--store <url>'",
    )
  })
})
