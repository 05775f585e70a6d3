/** The sections of the panel about one slot. */
import { describeBilling } from '#contract/words/billing.ts'
import { describeRendererError, type ErrorWords } from '#contract/words/renderer-errors.ts'
import { type BeaconLine, readBeaconLines } from './beacon-lines.ts'
import { describeMissing, drawMeter } from './meter.ts'
import { drawChip, drawSection } from './sections.ts'
import { describeAsked, listNotices, type Slot } from './slots.ts'
import { readSteps, type Step } from './timeline.ts'
import { type Branch, draw, drawIcon } from './tree.ts'
import { describeState, findErrorLinks, listErrorLines, seconds, type Tone, timeLeft } from './words.ts'

export interface DetailContext {
  /** Where render.js came from, without a slash at its end. */
  base_url: string
  /** The service's time, Unix epoch milliseconds. */
  now_ms: number
  /** Whether the sandbox answers: without it, what only it knows is unknown. */
  isLive: boolean
  /** Whether the console itself lies over the ad. */
  isUnderConsole: boolean
}

/** Returns the sections of a slot, from what it is to what it was. */
export function drawDetail(slot: Slot, context: DetailContext): Branch[] {
  return [
    drawHeadline(slot, context.base_url),
    drawVerdict(slot, context),
    drawWay(slot),
    drawMeter(slot, context.isUnderConsole),
    drawBeacons(slot, context),
    drawFacts(slot),
    drawValidity(slot, context),
  ].filter((section) => section !== null)
}

/** What it is and why, and the way to its page in the inspector. */
function drawHeadline(slot: Slot, base_url: string): Branch {
  const url = slot.sandbox?.inspector_url
  const { tone, chip, reason, text, details } = describeState(slot)
  return draw(
    'section',
    { 'data-key': 'headline', class: 'headline', 'data-tone': tone },
    draw(
      'p',
      { class: 'bar state' },
      drawChip(tone, chip),
      slot.sandbox?.is_forced && drawChip('warn', 'forced, never billed'),
      draw('code', { class: 'grow clipped' }, reason ?? ''),
      url !== undefined &&
        draw(
          'a',
          { class: 'bar', href: url, target: '_blank', rel: 'noopener noreferrer' },
          'Inspector',
          drawIcon('open'),
        ),
      url !== undefined &&
        draw('a', { class: 'bar', href: findFileUrl(url), title: 'This turn as one signed file' }, 'File'),
    ),
    draw('p', {}, text),
    ...(details === undefined ? [] : drawError(details, base_url)),
    ...listNotices(slot).map((notice) => {
      const { message, fix } = describeRendererError(notice)
      const words = [message, fix].filter(Boolean).join(' ')
      return draw('p', { class: 'notice', 'data-tone': 'warn' }, drawChip('warn', notice.code), ' ', words)
    }),
  )
}

/** What else an error says, and the pages of the sandbox about its code and its request. */
function drawError(details: ErrorWords, base_url: string): Branch[] {
  const { docs, request } = findErrorLinks(details, base_url)
  const link = (href: string | undefined, text: string): Branch | false =>
    href !== undefined &&
    draw('a', { class: 'bar', href, target: '_blank', rel: 'noopener noreferrer' }, text, drawIcon('open'))
  return [
    ...listErrorLines(details).map((line) => draw('p', { class: 'soft' }, line)),
    draw('p', { class: 'bar wrap' }, link(docs, 'About this code'), link(request, 'Request in the inspector')),
  ]
}

/** The address at which the sandbox serves the turn of a slot as a file, by that of its page in the inspector. */
function findFileUrl(inspector_url: string): string {
  return inspector_url.replace(/\/placements\/(\w+)$/, '/bundle.html?slot_id=$1')
}

/** Would it bill, and if not what is missing. */
function drawVerdict(slot: Slot, { isLive, isUnderConsole }: DetailContext): Branch | null {
  const { sandbox, ad } = slot
  if (sandbox === null) {
    if (ad === null || isLive) return null
    const text = 'Whether it would be billed is known to the sandbox alone.'
    return draw('p', { 'data-key': 'verdict', class: 'verdict faint' }, text)
  }
  const { would_bill, explanation } = sandbox.billing
  const missing = describeMissing(slot, isUnderConsole)
  const { verdict, subject } = describeBilling(sandbox.billing)
  return draw(
    'div',
    { 'data-key': 'verdict', class: 'verdict box' },
    drawChip(would_bill ? 'money' : 'plain', verdict),
    draw(
      'div',
      {},
      draw('p', {}, subject),
      draw('p', { class: 'soft' }, explanation),
      missing !== null && draw('p', { class: 'soft' }, missing),
    ),
  )
}

function drawWay(slot: Slot): Branch | null {
  const steps = readSteps(slot)
  if (steps.length === 0) return null
  const reached = steps.flatMap(({ to_ms }) => to_ms ?? [])
  const total_ms = Math.max(1, ...reached)
  return drawSection('Turn', null, draw('ol', { class: 'way' }, ...steps.map((step) => drawStep(step, total_ms))))
}

function drawStep({ name, from_ms, to_ms, isWaiting }: Step, total_ms: number): Branch {
  const from = to_ms === null ? 100 : (from_ms / total_ms) * 100
  const to = to_ms === null ? 100 : (to_ms / total_ms) * 100
  const state = to_ms !== null ? 'reached' : isWaiting ? 'waiting' : 'none'
  const time = to_ms === null ? (isWaiting ? 'waiting' : '–') : milliseconds(to_ms)
  const spent = to_ms === null ? '' : `+${milliseconds(to_ms - from_ms)}`
  return draw(
    'li',
    { 'data-state': state },
    draw('span', {}, name),
    draw(
      'span',
      { class: 'track', 'aria-hidden': 'true' },
      draw('i', { '--from': `${from}%`, '--size': `${Math.max(0, to - from)}%` }),
    ),
    draw('span', { class: 'figure faint' }, spent),
    draw('span', { class: 'figure' }, time),
  )
}

function drawBeacons(slot: Slot, { isLive }: DetailContext): Branch | null {
  const lines = readBeaconLines(slot)
  if (slot.ad === null && lines.length === 0) return null
  const start_ms = slot.sandbox?.requested_at_ms ?? slot.events[0]?.at_ms ?? 0
  const remark = isLive ? null : draw('span', { class: 'faint tiny' }, 'as the page got them')
  return drawSection(
    'Beacons',
    remark,
    lines.length === 0
      ? draw('p', { class: 'faint' }, 'None has gone out.')
      : draw('ol', { class: 'beacons' }, ...lines.map((line) => drawBeacon(line, start_ms))),
  )
}

const verdictTones: Readonly<Record<BeaconLine['verdict'], Tone>> = {
  sending: 'plain',
  accepted: 'good',
  duplicate: 'warn',
  rejected: 'bad',
}

function drawBeacon(line: BeaconLine, start_ms: number): Branch {
  const { event, at_ms, verdict, reason_code, meaning, would_bill, metric, count } = line
  const isPlain = reason_code === 'OK' || reason_code === ''
  return draw(
    'li',
    { 'data-tone': verdictTones[verdict] },
    draw('time', {}, milliseconds(Math.max(0, at_ms - start_ms))),
    draw(
      'div',
      {},
      draw(
        'p',
        { class: 'bar wrap' },
        draw('b', {}, event, count > 1 ? ` × ${count}` : ''),
        drawChip(verdictTones[verdict], verdict),
        !isPlain && drawChip(verdict === 'accepted' ? 'warn' : verdictTones[verdict], reason_code),
        would_bill && drawChip('money', `bills ${metric}`),
      ),
      !isPlain && meaning !== null && draw('p', { class: 'soft' }, meaning),
    ),
  )
}

function drawFacts(slot: Slot): Branch {
  const { ad, turn, sandbox, slot_id } = slot
  const limit = describeAsked(slot)
  const placement = ad?.placement
  const meter = ad?.measure()
  const given = placement && `${placement.width} × ${placement.height}`
  const pairs: [string, string | undefined | null][] = [
    ['Format', placement?.format ?? sandbox?.format],
    ['Size', given && (meter ? `${given}, shown at ${meter.width_px} × ${meter.height_px}` : given)],
    ['Asked', limit && `at most ${limit}`],
    ['Label', placement && `${placement.render.label_text} · ${placement.render.sponsor_name}`],
    ['Slot', slot_id],
    ['Turn', turn?.id ?? ad?.turn_id],
    ['Session', ad?.session_id || sandbox?.session_id],
  ]
  return drawSection('Placement', null, drawPairs(pairs.filter(([, value]) => value)))
}

const codes: ReadonlySet<string> = new Set(['Slot', 'Turn', 'Session'])

function drawPairs(pairs: readonly (readonly [string, string | undefined | null])[]): Branch {
  return draw(
    'dl',
    { class: 'pairs' },
    ...pairs.map(([name, value]) =>
      draw(
        'div',
        {},
        draw('dt', {}, name),
        draw('dd', {}, codes.has(name) ? draw('code', {}, value ?? '') : (value ?? '')),
      ),
    ),
  )
}

/** Consent and asset token: what is valid, and for how long. */
function drawValidity({ ad, sandbox }: Slot, { now_ms }: DetailContext): Branch | null {
  if (ad === null) return null
  const { lifecycle_state, revision, expires_at_ms } = ad.consent
  const current = sandbox?.consent.current_state ?? null
  const isOutdated = current !== null && current !== lifecycle_state
  const isOver = sandbox !== null && sandbox.expires_at_ms <= now_ms
  return drawSection(
    'Validity',
    null,
    draw(
      'div',
      { class: 'valid' },
      draw('span', { class: 'soft' }, 'Consent'),
      draw(
        'span',
        { class: 'bar wrap' },
        drawChip(lifecycle_state === 'granted' ? 'good' : 'bad', lifecycle_state),
        `revision ${revision}`,
        isOutdated && drawChip('bad', `now ${current}`),
      ),
      drawTimeLeft(expires_at_ms - now_ms),
    ),
    draw(
      'div',
      { class: 'valid' },
      draw('span', { class: 'soft' }, 'Asset token'),
      draw('span', {}, sandbox === null ? 'known to the sandbox alone' : `accepts ${isOver ? 'no ' : ''}beacons`),
      sandbox !== null && drawTimeLeft(sandbox.expires_at_ms - now_ms),
    ),
  )
}

function drawTimeLeft(left_ms: number): Branch {
  const text = timeLeft(left_ms)
  return draw('span', { class: 'figure', 'data-tone': left_ms < 30_000 ? 'bad' : 'plain' }, text)
}

/** The buttons that copy the slot. */
export function drawLinks(copied: string | null): Branch {
  const copy = (value: string, text: string): Branch =>
    draw(
      'button',
      { type: 'button', class: 'small bar', 'data-action': 'copy', 'data-value': value },
      drawIcon(copied === value ? 'check' : 'copy'),
      copied === value ? 'Copied' : text,
    )
  return draw(
    'footer',
    { 'data-key': 'links', class: 'links bar wrap' },
    copy('report', 'Copy as bug report'),
    copy('json', 'Copy as JSON'),
  )
}

function milliseconds(ms: number): string {
  return ms < 10_000 ? `${Math.round(ms)} ms` : seconds(ms)
}
