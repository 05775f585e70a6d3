/**
 * Text that steers terminals, in everything that a command may print: what a service responds, what a sandbox has stored,
 * and files. Each case is a command line, its format and whether its streams are terminals; every byte is looked at.
 */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { endpoints, type Field } from '#cli/endpoint/facts.ts'
import { writeLocator } from '#cli/settings/state-directory.ts'
import { fillPath } from '#foundation/http.ts'
import { version } from '#text/version.ts'
import { everyExample, inLanes, runExample } from './every-example.ts'
import { addingText, type Script, startScriptedService } from './scripted-service.ts'
import { exampleFolder, noon, startTestCli, svc, type TestCli, temporaryDirectory } from './test-cli.ts'

/** OSC, CSI, C1, other C0, line ends, bidi controls, and a colour that commands use themselves. */
export const hostile =
  '\u001b]0;OWNED\u0007\u001b[2J\u001b[8m\u001b[31mOWNED\u009b31mOWNED\u0085\u0008\u007f\u0000\u202e\u2066\u200f\u061c\ufeff\u2028\r\nFORGED\rFORGED\tEND'

/** Returns what is wrong in what a command wrote; empty when nothing is. */
export function steering(written: string, isExact: boolean): string[] {
  const found = []
  if (/\u001b\[(?:31|2J|8)m?\u001b|\u001b\[31mOWNED/.test(written))
    found.push('a code of the text passed as one of the program')
  const rest = written.replace(/\u001b\[(?:1|2|7|22|27|31|32|33|36|39)m|\u001b\[(?:G|K|2J|H)/g, '')
  const [character] =
    /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff]|\r(?!\n)/.exec(
      rest,
    ) ?? []
  if (character !== undefined) found.push(`U+${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
  if (!isExact && /^(?:\u001b\[\d*m)*FORGED/m.test(written)) found.push('a line end of the text began a line')
  return found
}

/** Commands that print a document: exact in a pipe, with its own lines on a terminal. */
const documents =
  /^(api render\.frame|qa (show|validate --schema)|evidence export|requests show --curl|config completion)/

export interface Tally {
  cases: number
  bytes: number
  commands: Set<string>
  problems: string[]
}

/** Runs every example, or each `step`-th of the cases, and where wanted one of each command. Returns how many cases were tried, and what was found. */
export async function walkHostileOutput({ first = 0, step = 1, isEachTried = false } = {}): Promise<Tally> {
  const tally: Tally = { cases: 0, bytes: 0, commands: new Set(), problems: [] }
  const chosen: Case[] = []
  let index = 0
  for (const { path, words } of await everyExample()) {
    for (const [from, script] of sources) {
      for (const way of ways) {
        // These take a second or more: two ways of two sources each.
        const isLeftOut =
          (slow.test(words) && !(way.isTerminal && way.format !== '-o jsonl' && from.startsWith('responses'))) ||
          (path === 'contract check' && from === 'responses')
        if (isLeftOut || (index++ % step !== first && (!isEachTried || tally.commands.has(path)))) continue
        chosen.push({ path, words, from, script, ...way })
        tally.commands.add(path)
      }
    }
  }
  await inLanes(chosen, async () => {
    const cli = await startTestCli()
    const service = await startScriptedService(cli.sandbox.url, hostile)
    await storeHostileText(cli)
    let placed = ''
    return {
      async take(one) {
        const url = one.script === null ? cli.sandbox.url : service.url
        service.script = one.script ?? ((real) => real)
        await writeLocator(cli.home, { ...cli.sandbox, url, version, started_at_ms: noon })
        // The placement that an example is about, when it names none: one for each service.
        const place = `${one.words} at ${url}`
        if (one.from !== 'errors' && placed !== place) await cli.svc('placements create --format banner -q -o none')
        if (one.from !== 'errors') placed = place
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
  /** The key of `sources`, and its script. */
  from: string
  script: Script | null
  format: string
  isTerminal: boolean
}

async function tryCase({ path, words, from, format, isTerminal }: Case, cli: TestCli, tally: Tally): Promise<void> {
  const line = `${words.replace(/(^| )-o \S+/, '')} ${format}`.trim().replace(/(.*?)( -- .*?)?( -o \w+)$/, '$1$3$2')
  const { code, stdout, stderr } = await runExample(line, {
    cwd: hostileFolder(cli, path),
    isTerminal,
    // Where prose wraps, any word may begin a line.
    columns: 100_000,
    env: { SVC_HOME: cli.home, SVC_PAGER: '', ...(from === 'errors' ? { SVC_CLIENT_ID: 'proj_demo' } : {}) },
  })
  tally.cases++
  tally.bytes += stdout.length + stderr.length
  const isDocument = documents.test(words)
  const found = [
    ...(isDocument && !isTerminal ? [] : steering(stdout, isDocument || format !== '')),
    ...steering(stderr, format !== ''),
  ]
  if (code === 1) found.push('a bug of svc')
  if (found.length === 0) return
  const seen = JSON.stringify(stderr + stdout).slice(0, 600)
  tally.problems.push(`svc ${line} (${from}${isTerminal ? ', terminal' : ''}): ${found.join(', ')}: ${seen}`)
}

/** Commands that start a sandbox or send many requests. */
const slow = /^(start|exec|contract check|creatives sheet|qa (run|observe|hosts)|init|doctor)/

const ways = [
  { format: '', isTerminal: true },
  { format: '', isTerminal: false },
  { format: '-o json', isTerminal: true },
  { format: '-o jsonl', isTerminal: true },
  { format: '-o json', isTerminal: false },
]

const errorAnswer: Script = (real, endpoint) => {
  if (endpoint === null || endpoint.id === 'sandbox.info') return real
  const body = {
    error: 'invalid_request',
    message: hostile,
    request_id: hostile,
    fields: [{ path: hostile, message: hostile, expected: hostile, location: 'body' }],
    hint: hostile,
    reason_code: null,
    docs_url: hostile,
  }
  return { ...real, status: 400, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
}

/** Null: what the sandbox has stored. */
const sources: readonly (readonly [string, Script | null])[] = [
  ['stored', null],
  ['responses', addingText(hostile, true)],
  ['responses off the contract', addingText(hostile, false)],
  ['errors', errorAnswer],
  ['no JSON', (real) => ({ ...real, status: 500, body: `<html>${hostile}`, headers: { 'content-type': 'text/html' } })],
]

/** Returns the folder of a command's examples, with files that hold hostile text. */
function hostileFolder(cli: TestCli, path: string): string {
  const folder = exampleFolder(cli, path)
  mkdirSync(join(folder, 'dist'), { recursive: true })
  writeFileSync(join(folder, 'dist', 'app.js'), `const key = "sk_live_abcdef123"; // ${hostile}`)
  return folder
}

/** Sends hostile text in every field of every body that takes a string, in paths and in headers. */
async function storeHostileText({ sandbox }: TestCli): Promise<void> {
  const [project] = sandbox.projects
  const authorization = `Bearer ${project!.secret_key}`
  const send = (path: string, body: unknown, headers = {}) =>
    fetch(sandbox.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization, ...headers },
      body: JSON.stringify(body),
    })
  const common = { client_id: 'proj_demo', session_id: 'sess_hostile', job_type: 'chat' }
  for (const { method, path, body } of Object.values(endpoints)) {
    if (method !== 'POST' || body === null) continue
    const variants: readonly Field[] = body.anyOf ?? [body]
    for (const field of variants.flatMap((variant) => textFields(variant, []))) {
      const value = field.reduceRight<unknown>((inner, name) => ({ [name]: inner }), `x${hostile}`)
      await send(fillPath(path, { request_id: 'req_1', client_id: 'proj_demo', session_id: 's' }), {
        ...common,
        ...(value as object),
      })
    }
  }
  await send(`/v1/${encodeURIComponent(hostile)}`, common, { 'user-agent': 'agent \u009b31m \u0085' })
  await send('/v1/placements', common, { 'x-odd': '\u009b31m\u0085' })
}

function textFields({ properties = {} }: Field, path: readonly string[]): string[][] {
  return Object.entries(properties).flatMap(([name, field]) => {
    const inner = [...path, name]
    return field.properties === undefined ? [inner] : textFields(field, inner)
  })
}

/** Runs commands that read files, with hostile text as names and values in each of them, and as arguments. */
export async function walkHostileFiles({ first = 0, step = 1 } = {}): Promise<Tally> {
  const key = JSON.stringify(hostile)
  const tally: Tally = { cases: 0, bytes: 0, commands: new Set(), problems: [] }
  let index = 0
  for (const line of [...readers, ...arguments_]) {
    for (const [round, config] of configs(key).entries()) {
      if (round > 0 && !readers.includes(line)) break
      for (const { format, isTerminal } of ways) {
        if (index++ % step !== first) continue
        const home = temporaryDirectory()
        writeFileSync(join(home, 'svc.config.json'), config)
        writeFileSync(join(home, 'profiles.json'), profiles(key)[round % 3]!)
        writeFileSync(join(home, 'suite.yaml'), suites(key)[round % 4]!)
        for (const name of ['evidence.jsonl', 'beacons.jsonl'])
          writeFileSync(join(home, name), `{${key}: ${key}}\n${hostile}\n`)
        const { code, stdout, stderr } = await svc(`${line} ${format}`.trim(), {
          cwd: home,
          isTerminal,
          env: { SVC_HOME: home, SVC_PAGER: '' },
        })
        tally.cases++
        tally.bytes += stdout.length + stderr.length
        tally.commands.add(line.split(hostile)[0]!)
        const found = [...steering(stdout, true), ...steering(stderr, true)]
        if (code === 1) found.push('a bug of svc')
        if (found.length > 0)
          tally.problems.push(
            `svc ${JSON.stringify(line)} ${format} (round ${round}): ${found.join(', ')}: ${JSON.stringify(stderr + stdout).slice(0, 600)}`,
          )
      }
    }
  }
  return tally
}

const readers = [
  'config validate',
  'config list',
  'config get base_url',
  'config use local',
  'doctor',
  'sandbox status',
  'sandbox env',
  'placements list',
  'config completion --names profiles',
  'qa validate suite.yaml',
  'qa list suite.yaml',
  'evidence verify evidence.jsonl',
  'beacons lint beacons.jsonl',
]
const arguments_ = [
  `config set client_id '${hostile}'`,
  `placements '${hostile}'`,
  `'${hostile}'`,
  `placements create --format '${hostile}'`,
  `qa run '${hostile}'`,
  `init node-server '${hostile}'`,
  `init '${hostile}'`,
  `sandbox status --base-url '${hostile}'`,
  `sandbox status --profile '${hostile}'`,
  `explain '${hostile}'`,
  `placements create --data '${hostile}'`,
  `evidence verify '${hostile}'`,
  `exec -- '${hostile}'`,
]
const configs = (key: string) => [
  `{${key}: 1}`,
  `{"base_url": ${key}}`,
  `{"client_id": ${key}}`,
  `{"profile": ${key}}`,
  `{"sandbox": {${key}: 1}}`,
  `{"sandbox": {"db": ${key}}}`,
  `{ ${hostile}`,
  `[${key}]`,
  '{}',
]
const profiles = (key: string) => [
  `{"profiles": {${key}: {}}}`,
  `{"current": ${key}, "profiles": {}}`,
  `{"profiles": {"a": {${key}: 1}}}`,
]
const suites = (key: string) => [
  `suite: ${key}\ncases: 1`,
  `name: ${key}\n${hostile}: 1`,
  `{${key}: ${key}}`,
  `cases: [{ name: ${key}, steps: [{ ${key}: 1 }] }]`,
]
