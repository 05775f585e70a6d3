/**
 * Text that steers terminals, on the screens that Ink draws: they go to the terminal past the guard of the system's streams.
 * A file that draws with Ink, a source of a tail or a state of its screen that is missing here fails.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { render, Text } from 'ink'
import { createElement } from 'react'
import { expect, test } from 'vitest'
import { createClient } from '#client/index.ts'
import { select } from '#commands/setup/Select.tsx'
import type { PlacementDetail } from '#contract/resources/placements.ts'
import type { RequestDetail, RequestItem } from '#contract/resources/requests.ts'
import { isObject, parseJson } from '#foundation/json.ts'
import { beaconSource } from '#tail/beacons.ts'
import { describeInterruption } from '#tail/feed.ts'
import { type Screen, startState, type TailState } from '#tail/model.ts'
import type { RequestState, SlotState, TailItem, TailSource } from '#tail/source.ts'
import { createTailStore } from '#tail/store.ts'
import { showTail } from '#tail/TailScreen.tsx'
import { parse } from '#tests/architecture/source.ts'
import { chooseStyle } from '#text/terminal.ts'
import { hostile, steering } from './hostile-output.ts'
import { root } from './process.ts'
import { type TerminalSize, usualSize } from './terminal.ts'
import { noon, startTestCli } from './test-cli.ts'

/** What is written of `hostile` in place of its first control character. */
const written_out = '\\u001b]0;OWNED'

/** What is drawn by each file that uses Ink, one text for each screen. */
const screens: Readonly<Record<string, () => Promise<string[]>>> = {
  'src/cli/commands/setup/Select.tsx': drawSelect,
  'src/cli/tail/TailScreen.tsx': drawTail,
}
/** The second has room for everything. */
const sizes: readonly TerminalSize[] = [usualSize, { columns: 200, rows: 120 }]
const sources: Readonly<Record<string, TailSource>> = { beaconSource }

test('every file that draws with Ink and every source of a tail is here', () => {
  const files = (readdirSync(join(root, 'src'), { recursive: true }) as string[])
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => `src/${name}`)
    .sort()
  const texts = files.map((path) => [path, readFileSync(join(root, path), 'utf8')] as const)
  const isInk = (specifier: string) => specifier === 'ink' || specifier.startsWith('ink/')
  const drawing = texts
    .filter(
      ([path, text]) =>
        /['"]ink['"/]/.test(text) &&
        parse(path, text).imports.some(({ specifier, isTypeOnly }) => isInk(specifier) && !isTypeOnly),
    )
    .map(([path]) => path)
  expect(drawing).toEqual(Object.keys(screens).sort())
  const followed = texts.flatMap(([, text]) =>
    [...text.matchAll(/^export const (\w+): TailSource\b/gm)].map(([, name]) => name),
  )
  expect(followed.sort()).toEqual(Object.keys(sources).sort())
})

test.each(Object.keys(screens))('no text that was stored or received steers a terminal by %s', async (path) => {
  const drawn = await screens[path]!()
  const problems = drawn.flatMap((text) =>
    steering(withoutInk(text), false).map((found) => `${found}: ${JSON.stringify(text).slice(0, 2_000)}`),
  )
  process.stdout.write(`hostile screens of ${path}: ${drawn.length}, ${drawn.join('').length} characters looked at\n`)
  expect(problems).toEqual([])
  for (const text of drawn) expect(text).toContain(written_out)
})

test('the check finds what Ink itself lets through', async () => {
  const terminal = inkTerminal(80, 24)
  const screen = render(createElement(Text, null, hostile), {
    ...terminal.streams,
    interactive: true,
    patchConsole: false,
  })
  screen.unmount()
  await screen.waitUntilExit()
  expect(steering(withoutInk(terminal.text()), true)).not.toEqual([])
})

async function drawSelect(): Promise<string[]> {
  const items = [
    { name: hostile, summary: hostile },
    { name: `other ${hostile}`, summary: '' },
  ]
  const drawn = []
  for (const keys of ['', '\r']) {
    const terminal = inkTerminal(80, 24)
    const signal = keys === '\r' ? new AbortController().signal : AbortSignal.abort()
    terminal.type(keys)
    await select(hostile, items, signal, terminal.streams)
    drawn.push(terminal.text())
  }
  return drawn
}

/** Draws each state of the tail's screen for each item, by each source. */
async function drawTail(): Promise<string[]> {
  const drawn: string[] = []
  for (const received of await receivedItems()) {
    for (const state of tailStates(received)) {
      for (const size of sizes) drawn.push(await drawState(state, size))
    }
  }
  return drawn
}

/** Returns everything that is drawn of a state until the screen is left. */
async function drawState(state: TailState, { columns, rows }: TerminalSize): Promise<string> {
  const terminal = inkTerminal(columns, rows)
  const store = createTailStore(state, () => noon)
  const nothing = () => {}
  const style = chooseStyle({ write: nothing, is_terminal: true, columns }, 'always', {})
  const props = { store, base_url: () => hostile, style, onAction: nothing, onInterrupt: nothing, onSuspend: nothing }
  await showTail(props, AbortSignal.abort(), terminal.streams)
  store.close()
  return terminal.text()
}

/** Returns every screen, the details with every state of what is loaded for them. */
function tailStates({ source, item, detail, exchange }: Received): TailState[] {
  const slots = {
    none: { status: 'none' },
    loading: { status: 'loading' },
    failed: { status: 'failed', reason: hostile },
    loaded: { status: 'loaded', detail },
  } satisfies { [Status in SlotState['status']]: Extract<SlotState, { status: Status }> }
  const requests = {
    loading: { status: 'loading' },
    missing: { status: 'missing' },
    failed: { status: 'failed', reason: hostile },
    loaded: { status: 'loaded', detail: exchange },
  } satisfies { [Status in RequestState['status']]: Extract<RequestState, { status: Status }> }
  const { loaded, ...others } = requests
  const details = [
    ...Object.values(slots).map((slot) => ({ slot, request: loaded })),
    ...Object.values(others).map((request) => ({ slot: slots.loaded, request })),
  ]
  const shown = {
    list: [{ name: 'list' }],
    help: [{ name: 'help' }],
    search: [{ name: 'search', before: hostile }],
    filter: [{ name: 'filter', field: Object.keys(source.choices)[0] ?? '' }],
    details: details.map((about) => ({ name: 'details', item, scroll: 0, ...about })),
  } satisfies { [Name in Screen['name']]: Extract<Screen, { name: Name }>[] }
  const fields = Object.fromEntries(Object.keys(source.choices).map((field) => [field, hostile]))
  const start: TailState = {
    ...startState(source, { fields, search: hostile }, noon),
    connection: { status: 'lost', reason: hostile },
    items: [item],
    shown: [item],
  }
  const notice = describeInterruption({ kind: 'lost', reason: hostile })
  const states = Object.values(shown)
    .flat()
    .map((screen) => ({ ...start, screen }))
  return [...states, { ...start, notice }, { ...start, selected_seq: item.seq }]
}

interface Received {
  source: TailSource
  item: TailItem
  detail: PlacementDetail
  exchange: RequestDetail
}

/** Returns a turn as a sandbox has stored it, with hostile text in its strings; one beacon has none of the contract's words. */
async function receivedItems(): Promise<Received[]> {
  await using cli = await startTestCli()
  await cli.svc('placements create --format banner')
  await cli.svc('beacons send --event render')
  await cli.svc('beacons send --event click --set asset_token=nonsense')
  const client = createClient({ base_url: cli.sandbox.url, credential: cli.sandbox.keys.secret_key })
  const show = ({ request_id }: RequestItem) => client.requests.show({ params: { request_id } })
  const { items: beacons } = await client.beacons.list({})
  const exchanges = await Promise.all((await client.requests.list({})).items.map(show))
  const [rejected, accepted] = beacons
  const refused = exchanges.find(({ status }) => status === 400)
  if (rejected?.verdict !== 'rejected' || !accepted?.slot_id || !refused) throw new Error('The turn is not whole.')
  const detail = await client.placements.explain({ params: { slot_id: accepted.slot_id } })
  const kept = ['verdict', 'kind']
  const ofBeacons = [[accepted, kept] as const, [rejected, kept] as const, [rejected, []] as const].map(
    ([beacon, kept]) => {
      const item = { ...beacon, seq: 1 }
      return { source: beaconSource, ...withHostileText({ item, detail, exchange: refused }, kept) }
    },
  )
  return ofBeacons
}

/**
 * Returns a copy with hostile text in each string but those of the fields that are kept, JSON within strings included, and
 * as a further field of each object.
 */
function withHostileText<Value>(value: Value, kept: readonly string[] = []): Value {
  const copy = (inner: unknown, name: string): unknown => {
    if (kept.includes(name)) return inner
    if (Array.isArray(inner)) return inner.map((item) => copy(item, name))
    if (typeof inner === 'string') {
      const json = parseJson(inner)
      return isObject(json) ? JSON.stringify(copy(json, '')) : hostile
    }
    if (typeof inner !== 'object' || inner === null) return inner
    return {
      ...Object.fromEntries(Object.entries(inner).map(([name, field]) => [name, copy(field, name)])),
      [hostile]: hostile,
    }
  }
  return copy(value, '') as Value
}

/** A terminal for Ink, which keeps what is written to it. */
function inkTerminal(columns: number, rows: number) {
  let text = ''
  const stdout = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString()
      done()
    },
  })
  const stdin = new PassThrough()
  const nothing = () => {}
  Object.assign(stdout, { isTTY: true, columns, rows })
  Object.assign(stdin, { isTTY: true, setRawMode: nothing, ref: nothing, unref: nothing })
  return {
    streams: { stdin, stdout },
    type: (keys: string) => void stdin.write(keys),
    text: () => text,
  }
}

/** Removes the modes and moves of the cursor that Ink writes. None of them is in `hostile`. */
function withoutInk(text: string): string {
  return text.replace(/\u001b\[\?(?:25|1049|2004|2026)[hl]|\u001b\[\d*[A-GK]|\u001b\[J/g, '')
}
