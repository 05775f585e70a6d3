/** Answers that no service of the contract gives, to every command. */

import { writeLocator } from '#cli/settings/state-directory.ts'
import { type Json, parseJson } from '#foundation/json.ts'
import { version } from '#text/version.ts'
import { everyExample, inLanes, runExample } from './every-example.ts'
import { type Answer, type Script, startScriptedService } from './scripted-service.ts'
import { exampleFolder, noon, startTestCli, type TestCli } from './test-cli.ts'

const json = { 'content-type': 'application/json' }
const asJson =
  (body: string, status?: number): Script =>
  (real) => ({ status: status ?? real.status, headers: json, body })

/** Returns a value with each of its parts replaced. */
function mapped(value: Json, map: (part: Json) => Json): Json {
  if (Array.isArray(value)) return map(value.map((item) => mapped(item, map)))
  if (typeof value !== 'object' || value === null) return map(value)
  return map(Object.fromEntries(Object.entries(value).map(([name, part]) => [name, mapped(part as Json, map)])))
}
const replacing =
  (map: (part: Json) => Json): Script =>
  (real: Answer) => {
    const value = parseJson(real.body)
    return value === undefined ? real : { ...real, body: JSON.stringify(mapped(value, map)) }
  }

const oddAnswers: Readonly<Record<string, Script>> = {
  'a page': () => ({
    status: 200,
    headers: { 'content-type': 'text/html' },
    body: '<!doctype html><title>Sign in</title>',
  }),
  'a page, 502': () => ({ status: 502, headers: { 'content-type': 'text/html' }, body: '<h1>Bad gateway</h1>' }),
  'a page that says it is JSON': asJson('<!doctype html>'),
  'JSON that says it is a page': (real) => ({ ...real, headers: { ...real.headers, 'content-type': 'text/html' } }),
  nothing: (real) => ({ ...real, headers: {}, body: '' }),
  'no content': () => ({ status: 204, headers: {}, body: '' }),
  null: asJson('null'),
  'a list': asJson('[]'),
  'a list of lists': asJson('[[], [1], null]'),
  'a text': asJson('"ready"'),
  'a number': asJson('1e400'),
  'an empty object': asJson('{}'),
  'a prototype': asJson('{"__proto__": {"items": 1}, "constructor": null, "items": {"length": 3}}'),
  'half of it': (real) => ({ ...real, body: real.body.slice(0, real.body.length / 2) }),
  'an error with status 200': asJson('{"error": "not_found", "message": "no", "request_id": "r", "fields": []}', 200),
  'an error of its own': asJson('{"error": {"code": 42}, "message": ["no"]}', 418),
  'an error, null': asJson('null', 500),
  'a redirect': () => ({ status: 302, headers: { location: 'https://elsewhere.example/login' }, body: '' }),
  'a redirect to nowhere': () => ({ status: 301, headers: {}, body: '' }),
  'numbers for texts': replacing((part) => (typeof part === 'string' ? 7 : part)),
  'texts for numbers': replacing((part) => (typeof part === 'number' ? 'seven' : part)),
  'null for texts': replacing((part) => (typeof part === 'string' ? null : part)),
  'null for objects within': (real) => {
    const value = parseJson(real.body)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return real
    const isObject = (part: unknown) => typeof part === 'object'
    return {
      ...real,
      body: JSON.stringify(
        Object.fromEntries(Object.entries(value).map(([name, part]) => [name, isObject(part) ? null : part])),
      ),
    }
  },
  'objects for lists': replacing((part) => (Array.isArray(part) ? { items: part } : part)),
  'lists for objects': replacing((part) =>
    typeof part === 'object' && part !== null && !Array.isArray(part) ? [part as Json] : part,
  ),
  'times beyond dates': replacing((part) => (typeof part === 'number' && part > 1e9 ? 1e20 : part)),
  'a huge text': asJson(`{"items": "${'x'.repeat(2_000_000)}"}`),
}

export interface OddTally {
  cases: number
  commands: Set<string>
  problems: string[]
}

/** They wait for other processes, or repeat requests until their time is up. */
const slow = /^(start|exec|contract check|qa (run|observe$|observe --( |url))|init)/

export async function walkOddAnswers({ first = 0, step = 1 } = {}): Promise<OddTally> {
  const tally: OddTally = { cases: 0, commands: new Set(), problems: [] }
  const chosen: Case[] = []
  let index = 0
  for (const { path, words } of await everyExample()) {
    if (slow.test(words)) continue
    for (const [name, script] of Object.entries(oddAnswers)) {
      // A sandbox of this version is not compared with the contract; any other service is.
      for (const of_version of [version, '0.0.1']) {
        if (index++ % step === first) chosen.push({ path, words, name, script, of_version })
      }
    }
  }
  await inLanes(chosen, async () => {
    const cli = await startTestCli()
    const service = await startScriptedService(cli.sandbox.url, '\u0000')
    let placed = ''
    return {
      async take(one) {
        const located = { ...cli.sandbox, url: service.url, version: one.of_version, started_at_ms: noon }
        await writeLocator(cli.home, located)
        // The placement that an example is about, when it names none: one for all answers to it.
        service.script = (real) => real
        if (placed !== one.words) await cli.svc('placements create --format banner -q -o none')
        placed = one.words
        service.script = one.script
        await tryCase(one, cli, tally)
      },
      async [Symbol.asyncDispose]() {
        await service[Symbol.asyncDispose]()
        await cli[Symbol.asyncDispose]()
      },
    }
  })
  return tally
}

interface Case {
  path: string
  words: string
  /** The key of `oddAnswers`, and its script. */
  name: string
  script: Script
  of_version: string
}

async function tryCase({ path, words, name, of_version }: Case, cli: TestCli, tally: OddTally): Promise<void> {
  const cwd = exampleFolder(cli, path)
  const { code, stdout, stderr } = await runExample(words, { cwd, env: { SVC_HOME: cli.home } })
  tally.cases++
  tally.commands.add(path)
  const found = []
  if (code === 1 || /bug of svc|\n {4}at /.test(stderr)) found.push('a bug of svc')
  if (/Cannot (read|destructure|convert)|is not (iterable|a function)|\[object Object\]/.test(stderr))
    found.push('words of the engine')
  // What follows a sandbox was ended by Ctrl-C, which needs no message.
  if (code !== 0 && code !== 130 && stderr === '' && stdout === '') found.push('no message')
  if (found.length === 0) return
  const seen = `svc ${words} (${name}, ${of_version}): ${found.join(', ')}: exit ${code}: ${stderr}${stdout}`
  tally.problems.push(seen.slice(0, 500))
}
