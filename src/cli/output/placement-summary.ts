/** A placement response as aligned lines. */
import type { ResponseMeta } from '#client/client.ts'
import type { AuthoritativeConsent } from '#contract/fields.ts'
import { noFillReasons } from '#contract/no-fill.ts'
import type { ConsentItem } from '#contract/resources/consent.ts'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import type { Style } from '#text/terminal.ts'
import { alignPairs, formatValue, plural } from '#text/text.ts'
import type { CommandContext } from '../run/command.ts'

type SummaryRow = readonly [string, string | null]

/** How a placement was requested. */
interface RequestedBy {
  meta: Pick<ResponseMeta, 'request_id' | 'slot_ids'>
  context: Pick<CommandContext, 'command_name' | 'settings'>
  /** The live key, if that is not the key of the settings. */
  live_key?: string | undefined
}

export function placementSummary(
  response: PlacementResponse,
  style: Style,
  { meta, context, live_key }: RequestedBy,
): string[] {
  return [
    ...alignPairs(
      [
        ['slot', response.slot_id],
        ['all slots', meta.slot_ids.length > 1 ? meta.slot_ids.join(' ') : null],
        ['status', styleStatus(response, style)],
        ...fillRows(response),
        ...noFillRows(response),
        ['consent', consentLine(response.authoritative_consent ?? null)],
        ['request', meta.request_id],
      ],
      style,
    ),
    '',
    ...nextSteps(response, context, live_key).map((line) => `${style.dim('next')}  ${line}`),
  ]
}

/** Returns `granted, revision 1, semantic_targeting yes, prompt_shared no (wrapper_cmp)`, or null without consent. */
export function consentLine(consent: AuthoritativeConsent | null): string | null {
  if (consent === null) return null
  const { lifecycle_state, revision, purposes, source } = consent
  const list = Object.entries(purposes).map(([purpose, isGiven]) => `${purpose} ${isGiven ? 'yes' : 'no'}`)
  return `${lifecycle_state}, revision ${revision}, ${list.join(', ')} (${formatValue(source)})`
}

/** Returns what a string of a consent tool says: `CMP 4095, 2026-11-26, purposes 1 2 3, 12 vendors`. */
export function consentStringText(string: ConsentItem['strings'][number], style?: Style): string {
  const { problem, cmp_id, created_at_ms, purposes, vendors, sections, opt_outs, standard, field } = string
  const notDecoded = `${field} cannot be decoded`
  if (problem !== null) return `${style?.yellow(notDecoded) ?? notDecoded}: ${problem}`
  const isTcf = cmp_id !== null
  return [
    ...(standard === 'gpp' ? [sections.length === 0 ? 'no section' : sections.join(' ')] : []),
    ...(isTcf ? [`CMP ${cmp_id}`] : []),
    ...(created_at_ms === null ? [] : [`made ${new Date(created_at_ms).toISOString().slice(0, 10)}`]),
    ...(isTcf
      ? [purposes.length === 0 ? 'no purpose' : `purposes ${purposes.join(' ')}`, plural(vendors, 'vendor')]
      : []),
    ...(opt_outs.length === 0 ? [] : [`opts out of ${opt_outs.join(' ')}`]),
  ].join(', ')
}

function styleStatus({ status, decision }: PlacementResponse, style: Style): string {
  if (decision === null) return style.yellow(status)
  return `${status}, ${decision.fill ? style.green('fill') : style.yellow('no fill')}`
}

function fillRows({ decision, placement }: PlacementResponse): SummaryRow[] {
  if (decision?.fill !== true) return []
  const { width, height } = decision.dimensions
  return [
    ['format', decision.format],
    ['sponsor', formatValue(decision.sponsor_name)],
    ['title', decision.assets === null ? null : formatValue(decision.assets.title)],
    ['size', `${width} x ${height}`],
    ['length', decision.duration_ms === null ? null : `${decision.duration_ms} ms`],
    ['price', `${decision.revenue_estimate.gross_cpm} ${decision.revenue_estimate.currency} CPM, never billed here`],
    ['click URL', formatValue(decision.click_url)],
    ['frame URL', placement === null ? null : formatValue(placement.render.frame_url)],
    ['asset token', formatValue(decision.asset_token)],
  ]
}

function noFillRows({ decision }: PlacementResponse): SummaryRow[] {
  if (decision?.fill !== false) return []
  const { meaning, how, retry } = noFillReasons[decision.no_fill_reason]
  return [
    ['reason', `${decision.no_fill_reason}: ${meaning}`],
    ['from', `${decision.reason_origin}, OpenRTB nbr ${formatValue(decision.nbr)}`],
    ['reproduce', how],
    ['ask again', retry],
  ]
}

/** Identifiers are left out: the next command takes them from the last placement. */
function nextSteps(
  { decision, placement }: PlacementResponse,
  { command_name, settings }: Pick<CommandContext, 'command_name' | 'settings'>,
  live_key: string | undefined,
): string[] {
  const options = nextOptions(settings)
  const key = live_key === undefined ? '' : ` --secret-key ${live_key}`
  const explain = `${command_name} explain${options}`
  if (decision === null) return [`${command_name} api decisions.get --wait-ms 5000${options}${key}`]
  if (!decision.fill || placement === null) return [explain]
  return [`${command_name} beacons send --event render${options}${key}`, explain]
}

/** Returns the options that make the next command use the same service and project. */
export function nextOptions({ source, base_url, client_id }: CommandContext['settings']): string {
  return [
    source.base_url === 'flag' ? ` --base-url ${base_url}` : '',
    source.client_id === 'flag' ? ` --client-id ${client_id}` : '',
  ].join('')
}
