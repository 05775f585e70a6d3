/** The slots as data and as plain text, for reports. Neither has a token. */
import { describeBilling } from '#contract/words/billing.ts'
import { describeRendererError, type ErrorWords } from '#contract/words/renderer-errors.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import type { ConsolePage } from '#renderer/host/console-page.ts'
import { readBeaconLines } from './beacon-lines.ts'
import type { Channel } from './channel.ts'
import { describeMeter, describeMissing, percent } from './meter.ts'
import { describeAsked, listNotices, type Slot } from './slots.ts'
import { readSteps } from './timeline.ts'
import { describeChannel, describeState, findErrorLinks, listErrorLines, seconds } from './words.ts'

interface Reported {
  page: ConsolePage
  channel: Channel
  slots: readonly Slot[]
}

/** Returns a few lines for each slot. */
export function renderText({ page, channel, slots }: Reported): string {
  const { chip, text } = describeChannel(channel.state, page.base_url)
  const heading = `Placement console of ${location.origin}${location.pathname}: ${count(slots.length, 'slot')}`
  const source = [`render.js ${page.version}, ${page.base_url}: ${chip}`, text].filter(Boolean).join('. ')
  return redactSecrets([heading, source, ...slots.map((slot) => renderSlot(slot, page.base_url))].join('\n'))
}

/** Returns one slot as a report that somebody without this page can read. */
export function renderBugReport(reported: Reported, slot: Slot): string {
  const { page } = reported
  const events = slot.events.map(({ type, at_ms, ...detail }) => {
    return `${new Date(at_ms).toISOString()} ${type} ${JSON.stringify(withoutIds(detail))}`
  })
  const lines = [
    renderText({ ...reported, slots: [slot] }),
    '',
    `Browser: ${navigator.userAgent}`,
    `Viewport: ${innerWidth} × ${innerHeight}, at ${devicePixelRatio} device pixels`,
    `Time of the page: ${new Date(page.now()).toISOString()}`,
    ...(slot.sandbox === null ? [] : [`Inspector: ${findInspectorUrl(slot.sandbox.inspector_url)}`]),
    'Events:',
    ...events.map((event) => `  ${event}`),
  ]
  return redactSecrets(lines.join('\n'))
}

/** Returns one slot as JSON text, with two spaces. */
export function renderJson({ page, channel }: Reported, slot: Slot): string {
  const { key, name, turn, ad, sandbox, slot_id, state, events } = slot
  const { asset_token: _, ...known } = sandbox ?? { asset_token: '' }
  const value = {
    page: `${location.origin}${location.pathname}`,
    render_js: { version: page.version, base_url: page.base_url, console: channel.state.status },
    slot: { key, name, slot_id, turn_id: turn?.id ?? ad?.turn_id ?? null, session_id: ad?.session_id ?? null },
    state,
    asked: describeAsked(slot),
    ad: ad && { ...describeAd(ad), meter: ad.measure() },
    steps: readSteps(slot),
    beacons: readBeaconLines(slot),
    sandbox: sandbox && known,
    events,
  }
  return redactSecrets(JSON.stringify(value, null, 2))
}

function renderSlot(slot: Slot, base_url: string): string {
  const { ad, sandbox, slot_id, name, turn } = slot
  const { chip, reason, text, details } = describeState(slot)
  const forced = sandbox?.is_forced ? ', forced, never billed' : ''
  const ids = [turn?.id, slot_id].filter(Boolean).join(', ')
  const lines = [
    '',
    `${name}${ids && ` (${ids})`}: ${[chip, reason].filter(Boolean).join(' ')}${forced}`,
    `  ${text}`,
    ...(details === undefined ? [] : renderError(details, base_url)),
    ...renderAd(slot),
    ...renderWay(slot),
  ]
  for (const notice of listNotices(slot)) {
    const { message, fix } = describeRendererError(notice)
    lines.push(`  notice: ${notice.code}. ${[message, fix].filter(Boolean).join(' ')}`)
  }
  const meter = ad?.measure()
  if (meter) {
    const { text: state } = describeMeter(meter, ad?.isViewed ?? false, false, ad?.element)
    lines.push(`  view: ${state} In the viewport: ${percent(meter.ratio)}; dwell: ${seconds(meter.visible_ms)}`)
  }
  for (const { event, verdict, reason_code, meaning, metric, would_bill, count: times } of readBeaconLines(slot)) {
    const bills = would_bill ? `, bills ${metric}` : ''
    const why = reason_code !== 'OK' && meaning !== null ? `: ${meaning}` : ''
    lines.push(`  beacon ${event}${times > 1 ? ` (${times})` : ''}: ${verdict} ${reason_code}${why}${bills}`.trimEnd())
  }
  if (sandbox !== null) lines.push(...renderVerdicts(sandbox, describeMissing(slot, false)))
  return lines.join('\n')
}

function renderError(details: ErrorWords, base_url: string): string[] {
  const { docs, request } = findErrorLinks(details, base_url)
  return [...listErrorLines(details), docs, ...(request === undefined ? [] : [`request: ${request}`])].map(
    (line) => `  ${line}`,
  )
}

function renderAd(slot: Slot): string[] {
  const { ad } = slot
  if (ad === null) return []
  const { format, width, height, sponsor_name, render } = ad.placement
  const limit = describeAsked(slot)
  const asked = limit === null ? '' : `, at most ${limit} asked for`
  const meter = ad.measure()
  const shown = meter === null ? '' : `, shown at ${meter.width_px} × ${meter.height_px}`
  return [`  ${format} ${width} × ${height}${shown}${asked}; label "${render.label_text} · ${sponsor_name}"`]
}

function renderWay(slot: Slot): string[] {
  const steps = readSteps(slot).filter(({ to_ms }) => to_ms !== null)
  if (steps.length === 0) return []
  return [`  since the request: ${steps.map(({ name, to_ms }) => `${name.toLowerCase()} ${to_ms} ms`).join(', ')}`]
}

function renderVerdicts({ billing, consent }: NonNullable<Slot['sandbox']>, missing: string | null): string[] {
  const { state, revision, expires_at_ms, current_state } = consent
  const now = current_state === null || current_state === state ? '' : `, now ${current_state}`
  return [
    `  ${[describeBilling(billing).text, missing].filter(Boolean).join(' ')}`,
    `  consent: ${state}, revision ${revision}, until ${new Date(expires_at_ms).toISOString()}${now}`,
  ]
}

function describeAd({ instance_id, isViewed, consent, placement }: NonNullable<Slot['ad']>): object {
  const { format, width, height, sponsor_name, render } = placement
  return { instance_id, isViewed, format, width, height, sponsor_name, label_text: render.label_text, consent }
}

/** The address without what a sandbox of a team adds for its reader. */
function findInspectorUrl(url: string): string {
  return url.split('?')[0]!
}

function withoutIds({ turn_id, slot_id, instance_id, ...detail }: Record<string, unknown>): object {
  return detail
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
