/** Bundles: what they hold, that they are proven, and that every change of one is named. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { verifyBundle } from '#commands/evidence/bundle-file.ts'
import type { Bundle } from '#contract/bundles/bundle.ts'
import { bundlePage } from '#contract/bundles/page.ts'
import { readBundle } from '#contract/bundles/text.ts'
import { formats } from '#contract/fields.ts'
import { setValue } from '#foundation/json.ts'
import { packageVersion } from '#sandbox/fixtures.ts'
import { asked, beacon, fill, key, type Stage, stage } from './stage.ts'

const anyKey = { public_key: null, svc_version: packageVersion() }
const promptText = 'how do I hide a body of text'
const secrets = /sk_test_sandbox|ast_[0-9a-z]{11}_(?!redacted)|bt_[0-9a-z]{11}_(?!redacted)|hide a body/

const seen = { visible_ratio: 1, visible_ms: 2_500, page_visible: true }

/** The same bytes in base64url with other unused bits at the end, which a lenient reader takes for the same text. */
function respelled(base64url: string): string {
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return base64url.slice(0, -1) + digits[digits.indexOf(base64url.at(-1)!) + 1]
}

async function bundleOf(on: Stage, slot_id: string, query: Record<string, string> = {}): Promise<Bundle> {
  return parsePage(await pageOf(on, slot_id, query))
}

function parsePage(page: string): Bundle {
  const read = readBundle(page)
  if ('problem' in read) throw new Error(read.problem)
  return read.bundle
}

/** The page of a bundle, as the sandbox sends it. */
async function pageOf(on: Stage, slot_id: string, query: Record<string, string> = {}): Promise<string> {
  const address = `${on.sandbox.url}/_sandbox/bundle.html?${new URLSearchParams({ slot_id, ...query })}`
  const response = await fetch(address)
  expect(response.headers.get('content-disposition')).toContain(`${slot_id}.svc.html`)
  return response.text()
}

async function frame(on: Stage, asset_token: string) {
  expect((await fetch(`${on.sandbox.url}/v1/render/${asset_token}`)).status).toBe(200)
}

/** One turn of each outcome of each format, by what its page says first. */
const outcomes: Readonly<Record<string, (on: Stage, format: (typeof formats)[number]) => Promise<string>>> = {
  'would bill': async (on, format) => {
    const filled = await fill(on.api, { format, body: asked({ prompt: { topic: 'coffee', text: promptText } }) })
    await frame(on, filled.asset_token)
    for (const event of format === 'clip'
      ? ['render', 'play_started', 'visible', 'completion']
      : ['render', 'visible']) {
      await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, event, { measurements: seen }) })
      on.clock.advance(3_000)
    }
    return filled.slot_id
  },
  'would not bill': async (on, format) => {
    const filled = await fill(on.api, { format })
    await frame(on, filled.asset_token)
    await on.api.refuse('beacons.send', {
      as: key,
      body: { ...beacon(on.clock, filled, 'render'), occurred_at_ms: on.clock.now() - 900_000 },
    })
    return filled.slot_id
  },
  expired: async (on, format) => {
    const { slot_id } = await fill(on.api, { format })
    on.clock.advance(3_600_000)
    return slot_id
  },
  'no fill': async (on, format) => {
    const body = asked({ test_outcome: 'no_fill', overrides: { allowed_formats: [format] } })
    return (await on.api.accept('placements.create', { as: key, body })).body.slot_id
  },
}

for (const [outcome, play] of Object.entries(outcomes)) {
  test.each(formats)(`a turn that ends with ${outcome}, for a %s, is proven and fits its limit`, async (format) => {
    await using on = await stage()
    const slot_id = await play(on, format)
    const page = await pageOf(on, slot_id)
    expect(verifyBundle(page, anyKey)).toMatchObject({ ok: true, alterations: [], not_compared: null })
    expect(page).not.toMatch(secrets)
    expect(page.length).toBeLessThan(300_000)
    expect(page).not.toMatch(/<script(?! type="application\/json")|<[^>]* (?:src|href)="(?!data:)/)
    const bundle = await bundleOf(on, slot_id)
    const [turn] = bundle.turns
    expect(turn!.requests[0]).toMatchObject({ method: 'POST', path: '/v1/placements' })
    expect(turn!.evidence.map(({ kind }) => kind)).toContain('decision')
    expect(turn!.media.length > 0).toBe(outcome !== 'no fill')
    if (outcome === 'would bill') {
      expect(turn!.placement.billing).toMatchObject({ would_bill: true })
      expect(turn!.measurements).toHaveLength(format === 'clip' ? 4 : 2)
      expect(page).toContain('visible_ms 2500')
    }
  })
}

test('every value of a bundle that is changed is named by its part', async () => {
  await using on = await stage()
  const bundle = await bundleOf(on, await outcomes['would bill']!(on, 'banner'))
  const expected: [path: string, name: RegExp][] = [
    ['at_ms', /the list of its parts/],
    ['session_id', /^the head was changed$/],
    [
      'turns.0.placement.billing.would_bill',
      /^its data is not as the format says, at turns\[0\].placement.billing.would_bill$/,
    ],
    ['turns.0.placement.billing.explanation', /^turn 1, the billing verdict was changed$/],
    ['turns.0.placement.beacons.1.beacon_id', /^turn 1, beacon 2 \(visible\) was changed$/],
    ['turns.0.measurements.0.measurements.visible_ms', /^turn 1, measurements 1 /],
    ['turns.0.requests.0.status', /^turn 1, request 1 \(req_\w+\) was changed$/],
    [
      'turns.0.evidence.0.hash',
      /^turn 1, evidence entry 1 \(decision\) was changed; the hash of evidence entry 1 does not/,
    ],
    ['turns.0.media.0.base64', /^turn 1, media 1 \(still\) was changed$/],
    ['parts.3.sha256', /the list of its parts/],
  ]
  for (const [path, name] of expected) {
    const copy = structuredClone(bundle) as unknown as Record<string, unknown>
    setValue(copy, path.split('.'), path.endsWith('status') || path.endsWith('_ms') ? 1 : 'other')
    const { ok, alterations } = verifyBundle(JSON.stringify(copy), anyKey)
    expect([path, ok, alterations.join('; ')]).toEqual([path, false, expect.stringMatching(name)])
  }
  const dropped = structuredClone(bundle)
  dropped.turns[0]!.placement.beacons.pop()
  expect(verifyBundle(JSON.stringify(dropped), anyKey).alterations).toEqual(['turn 1, beacon 2 (visible) is missing'])
})

type Path = readonly (string | number)[]

/** Returns the path of every node of a value, itself excluded. */
function listNodes(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return []
  const names: Path = Array.isArray(value) ? [...value.keys()] : Object.keys(value)
  return names.flatMap((name) => [
    [...path, name],
    ...listNodes((value as Record<string | number, unknown>)[name], [...path, name]),
  ])
}

/** Returns what holds a node, and its name there. */
function locate(whole: unknown, path: Path): [parent: Record<string | number, unknown>, name: string | number] {
  const parent = path.slice(0, -1).reduce((value, name) => (value as Record<string | number, unknown>)[name], whole)
  return [parent as Record<string | number, unknown>, path.at(-1)!]
}

function insert(parent: Record<string | number, unknown>, name: string | number, value: unknown): void {
  if (Array.isArray(parent)) parent.splice(Number(name), 0, value)
  else parent.inserted = value
}

/** Changes the first leaf of a node: what a forger puts beside the genuine one. */
function forge(value: unknown): unknown {
  if (typeof value === 'string') return `${value}1`
  if (typeof value === 'number') return value + 1
  if (typeof value !== 'object' || value === null) return !value
  const [name] = Object.keys(value)
  const copy = structuredClone(value) as Record<string, unknown>
  if (name !== undefined) copy[name] = forge(copy[name])
  return copy
}

/** Each edit of a bundle at one node, with another one for those that need two. They return its text. */
const edits: Readonly<Record<string, (copy: Bundle, at: Path, other: Path) => string>> = {
  insertion: (copy, at, other) => {
    const [from, name] = locate(copy, other)
    insert(...locate(copy, at), structuredClone(from[name]))
    return JSON.stringify(copy)
  },
  forgery: (copy, at) => {
    const [parent, name] = locate(copy, at)
    insert(parent, name, forge(parent[name]))
    return JSON.stringify(copy)
  },
  removal: (copy, at) => {
    const [parent, name] = locate(copy, at)
    if (Array.isArray(parent)) parent.splice(Number(name), 1)
    else delete parent[name]
    return JSON.stringify(copy)
  },
  exchange: (copy, at, other) => {
    const [[parent, name], [from, there]] = [locate(copy, at), locate(copy, other)]
    ;[parent[name], from[there]] = [from[there], parent[name]]
    return JSON.stringify(copy)
  },
  duplication: (copy, at) => {
    const [parent, name] = locate(copy, at)
    insert(parent, name, structuredClone(parent[name]))
    return JSON.stringify(copy).replace('"inserted":', `${JSON.stringify(name)}:`)
  },
}

/** A turn with a consent, a decision and two beacons in its evidence. */
async function consentedTurn(on: Stage): Promise<Bundle> {
  const purposes = { semantic_targeting: true, prompt_shared: false }
  await on.api.accept('consent.set', { as: key, body: { client_id: 'proj_demo', session_id: 'sess_1', purposes } })
  return bundleOf(on, await outcomes['would bill']!(on, 'banner'))
}

test('an insertion, forgery, removal, exchange or duplication of any node is named, as JSON, as a page and on import', async () => {
  await using on = await stage()
  const bundle = await consentedTurn(on)
  const nodes = listNodes(bundle)
  const whole = JSON.stringify(bundle)
  const isWithin = (inner: Path, outer: Path) => outer.every((name, index) => inner[index] === name)
  const readEdited = (edit: string, at: Path, other: Path) => {
    // A node that is exchanged with one inside it is no tree.
    if (edit === 'exchange' && (isWithin(at, other) || isWithin(other, at))) return null
    const text = edits[edit]!(structuredClone(bundle), at, other)
    if (text === whole) return null
    const page = `<script type="application/json" id="svc-bundle">${text.replaceAll('<', '\\u003c')}</script>`
    for (const written of [text, page]) {
      const { ok, alterations } = verifyBundle(written, anyKey)
      const isNamed = !ok && alterations.length > 0 && !alterations.some((line) => line.startsWith('the page shows'))
      expect([edit, at, other, isNamed ? 'named' : alterations]).toEqual([edit, at, other, 'named'])
    }
    return text
  }
  fc.assert(
    fc.property(
      fc.constantFrom(...Object.keys(edits)),
      fc.constantFrom(...nodes),
      fc.constantFrom(...nodes),
      (edit, at, other) => void readEdited(edit, at, other),
    ),
    { numRuns: 100 },
  )
  // Lists are where an item more or less is as valid as before: each item with its neighbour.
  const items = nodes.filter((path) => typeof path.at(-1) === 'number')
  expect(items.filter((path) => path.at(-2) === 'evidence')).toHaveLength(4)
  for (const edit of Object.keys(edits)) {
    for (const [index, at] of items.entries()) {
      const text = readEdited(edit, at, items[index + 1] ?? items[0]!)
      if (text === null || at.at(-2) !== 'evidence') continue
      const imported = await on.api.send('POST', '/_sandbox/bundles', { body: { text } })
      expect(imported).toMatchObject(
        imported.status === 200
          ? { body: { problem: expect.any(String) } }
          : { body: { reason_code: 'bundle_invalid' } },
      )
    }
  }
})

test.each([
  ['a number beyond every double', '1e999'],
  ['half a surrogate pair', '"\\ud800"'],
])('%s in a bundle is named: it has no canonical JSON', async (_, written) => {
  await using on = await stage()
  const bundle = await consentedTurn(on)
  const text = JSON.stringify(bundle).replace(
    '"settings":[',
    `"settings":[{"name":"a","value":${written},"default":1},`,
  )
  expect(verifyBundle(text, anyKey).alterations).toEqual(['the settings was changed'])
  expect((await on.api.accept('bundles.import', { body: { text } })).body.problem).toBe('the settings was changed')
})

test('a number with more digits than JavaScript keeps is proven as itself, and refused in a field with a type', async () => {
  await using on = await stage()
  const filled = await fill(on.api)
  const digits = '12345678901234567890'
  const sent = JSON.stringify(beacon(on.clock, filled, 'render', { metadata: { big: 'DIGITS' } }))
  const authorization = `Bearer sk_test_sandbox_demo`
  await fetch(`${on.sandbox.url}/v1/beacons`, {
    ...{ method: 'POST', headers: { authorization, 'content-type': 'application/json' } },
    body: sent.replace('"DIGITS"', digits),
  })
  const text = JSON.stringify(await bundleOf(on, filled.slot_id))
  expect(text).toContain(`"big":${digits}`)
  expect(verifyBundle(text, anyKey)).toMatchObject({ ok: true, alterations: [] })
  for (const other of [`{"rawJSON":"${digits}"}`, `"${digits}"`, '"exact 0"', '12345678901234567891']) {
    const { ok, alterations } = verifyBundle(text.replaceAll(`"big":${digits}`, `"big":${other}`), anyKey)
    expect([other, ok, alterations.length > 0]).toEqual([other, false, true])
  }
  for (const field of ['seq', 'fault_rules', 'v', 'status', 'at_ms']) {
    const exact = text.replace(new RegExp(`"${field}":\\d+(?=,)`), `$&.00000000000000000001`)
    expect(exact).not.toBe(text)
    const { ok, alterations } = verifyBundle(exact, anyKey)
    expect([field, ok, alterations.length]).toEqual([field, false, 1])
    expect((await on.api.refuse('bundles.import', { body: { text: exact } })).body.reason_code).toBe('bundle_invalid')
  }
})

test('a file with the name of a page is one, or a browser would show something else than what was signed', async () => {
  await using on = await stage()
  const bundle = await bundleOf(on, (await fill(on.api)).slot_id)
  const [json, page] = [JSON.stringify(bundle), bundlePage(bundle)]
  for (const file of ['a.json', 'a', 'a.html.json']) expect(verifyBundle(json, { file, ...anyKey }).ok).toBe(true)
  for (const file of ['a.html', 'a.svc.html', 'a']) expect(verifyBundle(page, { file, ...anyKey }).ok).toBe(true)
  for (const file of ['a.html', 'a.HTM', 'a.xhtml', 'a.svg', 'a.xml']) {
    const { ok, alterations } = verifyBundle(json, { file, ...anyKey })
    expect([ok, alterations]).toEqual([false, ['it has the name of a page, and is none']])
  }
})

test('one byte changed anywhere in the file is noticed', { tags: 'depth' }, async () => {
  await using on = await stage()
  const page = Buffer.from(await pageOf(on, await outcomes['would bill']!(on, 'native')))
  const missed: number[] = []
  for (let at = 0; at < page.length; at += 509) {
    const changed = Buffer.from(page)
    changed[at] = changed[at] === 0x61 ? 0x62 : 0x61
    if (verifyBundle(changed.toString('utf8'), anyKey).ok) missed.push(at)
  }
  expect(missed).toEqual([])
})

test('a signature has one spelling: bits that no byte of it has are refused', async () => {
  await using on = await stage()
  const body = await bundleOf(on, await outcomes['would bill']!(on, 'banner'))
  const signature = respelled(body.signature)
  expect(Buffer.from(signature, 'base64url')).toEqual(Buffer.from(body.signature, 'base64url'))
  const forged = { ...body, signature }
  const alterations = ['the list of its parts is not the one that was signed']
  expect(verifyBundle(JSON.stringify(forged), anyKey)).toMatchObject({ ok: false, alterations })
  const imported = await on.api.accept('bundles.import', { body: { text: JSON.stringify(forged) } })
  expect(imported.body.problem).toMatch(alterations[0]!)
})

test('a session is a bundle of its newest turns, and the clip is in it when it is asked for', async () => {
  await using on = await stage()
  const [first, second] = [await fill(on.api, { format: 'clip' }), await fill(on.api, { format: 'banner' })]
  await on.api.accept('placements.create', { as: key, body: asked({ session_id: 'sess_2' }) })
  const page = await (await fetch(`${on.sandbox.url}/_sandbox/bundle.html?session_id=sess_1`)).text()
  const body = parsePage(page)
  expect(body.turns.map(({ placement }) => placement.slot_id)).toEqual([first.slot_id, second.slot_id])
  expect(verifyBundle(bundlePage(body), anyKey).ok).toBe(true)
  const uses = async (query: Record<string, string>) =>
    (await bundleOf(on, first.slot_id, query)).turns[0]!.media.map(({ use }) => use)
  expect(await uses({})).toEqual(['still'])
  expect(await uses({ media: 'true' })).toEqual(['still', 'clip'])
  for (const query of [{ slot_id: 'slot_00000000000' }, { session_id: 'nowhere' }, { client_id: 'proj_nowhere' }]) {
    expect((await on.api.refuse('bundles.page', { query })).status).toBe(404)
  }
})

test('an import is checked, listed and shown; one that was altered says so; another file is refused', async () => {
  await using on = await stage()
  const { slot_id } = await fill(on.api)
  const page = await pageOf(on, slot_id)
  const intact = await on.api.accept('bundles.import', { body: { text: page } })
  expect(intact.body).toMatchObject({ problem: null, is_own: true, slot_ids: [slot_id] })
  const altered = await on.api.accept('bundles.import', { body: { text: page.replace('"fill":true', '"fill":null') } })
  expect(altered.body.problem).toMatch(/^turn 1, the placement was changed/)
  // The data is as it was signed, and the page shows something else.
  for (const shown of [
    page.replace(/would(?= bill| not bill)/, 'shall'),
    page.replace('</title>', ' 2</title>'),
    page.replace('</body>', '<script>alert(1)</script></body>'),
    `${page}<p>And this.`,
  ]) {
    expect(shown).not.toBe(page)
    const { body } = await on.api.accept('bundles.import', { body: { text: shown } })
    expect(body.problem).toMatch(/^the page shows something else than its data/)
  }
  const of_other = page.replace(/"svc_version":"[^"]*"/, '"svc_version":"0.0.1"')
  const { body: other } = await on.api.accept('bundles.import', { body: { text: of_other } })
  expect(other.not_compared).toBe('the page around the data, which svc 0.0.1 wrote')
  const listed = (await on.api.accept('bundles.list')).body.items
  expect(listed.map(({ bundle_id }) => bundle_id).slice(-2)).toEqual([altered.body.bundle_id, intact.body.bundle_id])
  const { bundle_id } = intact.body
  const shown = await on.api.accept('bundles.show', { params: { bundle_id } })
  expect(parsePage(shown.body.text).turns[0]!.placement.slot_id).toBe(slot_id)
  expect((await on.api.refuse('bundles.import', { body: { text: '<p>' } })).body.reason_code).toBe('bundle_invalid')
  expect((await on.api.refuse('bundles.show', { params: { bundle_id: 'bun_0' } })).status).toBe(404)
})

test('personal data that a client sent is in no byte of the file, which is proven all the same', async () => {
  await using on = await stage()
  const private_texts = ['ann.smith@example.org', '+49 151 23456789', 'DE89370400440532013000']
  const [session_id, topic, iban] = private_texts
  const filled = await fill(on.api, { body: asked({ session_id, prompt: { topic } }) })
  const sent = beacon(on.clock, filled, 'render', { metadata: { account: iban, theme: 'dark' } })
  await on.api.accept('beacons.send', { as: key, body: sent })
  const page = await pageOf(on, filled.slot_id)
  for (const text of private_texts) expect(page).not.toContain(text)
  expect(page).toContain('[removed]')
  expect(page).toContain('dark')
  expect(verifyBundle(page, anyKey)).toMatchObject({ ok: true, alterations: [] })
})
