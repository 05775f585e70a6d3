import { Option } from 'commander'
import { endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import { lastPlacement } from '#cli/endpoint/last-placement.ts'
import { consentLine, consentStringText } from '#cli/output/placement-summary.ts'
import type { Command, Noun } from '#cli/run/command.ts'
import { noFillReasons } from '#contract/no-fill.ts'
import type { PlacementFunnel } from '#contract/resources/funnel.ts'
import type { AuctionStep, PlacementDetail } from '#contract/resources/placements.ts'
import { describeBilling } from '#contract/words/billing.ts'
import { listPersonalKinds } from '#foundation/personal-data/personal-kinds.ts'
import { CliError } from '#text/cli-error.ts'
import { type Column, paintDim, paintReason, paintWord, tableLines } from '#text/table.ts'
import type { Style } from '#text/terminal.ts'
import { alignPairs, describeValue, formatValue, plural, timeText } from '#text/text.ts'
import { create } from './create.ts'

/** The indent of the tables in a section. */
const indent = 2

const offerColumns: readonly Column[] = [
  { name: 'campaign', field: 'campaign_id' },
  { name: 'outcome', paint: paintWord },
  { name: 'why', field: 'explanation', kind: 'prose' },
]
const auctionColumns: readonly Column[] = [
  { name: 'after', field: 'answered_at_ms', kind: 'ms' },
  { name: 'partner', field: 'partner_id' },
  { name: 'campaign', field: 'campaign_id' },
  { name: 'price', field: 'price_cpm' },
  { name: 'outcome', paint: paintWord },
  { name: 'why', field: 'problem', kind: 'prose' },
]
const ruleColumns: readonly Column[] = [
  { name: 'rule', paint: paintReason },
  { name: 'removed' },
  { name: 'why', kind: 'prose' },
]
const campaignColumns: readonly Column[] = [
  { name: 'campaign', field: 'campaign_id' },
  { name: 'outcome', paint: paintWord },
  { name: 'rule', paint: paintReason },
  { name: 'why', field: 'explanation', kind: 'prose' },
]
const beaconColumns: readonly Column[] = [
  { name: 'when', field: 'received_at_ms', kind: 'time', paint: paintDim },
  { name: 'event' },
  { name: 'verdict', paint: paintWord },
  { name: 'reason', field: 'reason_code', paint: paintReason },
  { name: 'bills', field: 'would_bill', rank: 2, paint: paintWord },
]

const funnelColumns: readonly Column[] = [
  { name: 'format' },
  { name: 'decided' },
  { name: 'framed' },
  { name: 'rendered' },
  { name: 'visible' },
  { name: 'billable' },
]

const reasonColumns: readonly Column[] = [
  { name: 'no-fill', field: 'no_fill_reason', paint: paintReason },
  { name: 'count' },
]

export const explain = ofRequest(
  endpointCommand('placements.explain', {
    details:
      'Without slot_id: the newest placement, yours or that of your app. A request_id stands for its slot. The campaigns that were removed are grouped by rule.',
    examples: ['explain', 'explain --all', 'explain -o json'],
    options: [new Option('--all', 'show each removed campaign')],
    tables: [offerColumns, auctionColumns, ruleColumns, campaignColumns, beaconColumns],
    defaultParam: (context) => lastPlacement(context, 'slot_id'),
    text: (detail, style, { options }) => explanation(detail, style, options.all === true),
  }),
)

export const placements: Noun = {
  summary: 'Request placements, list them, and count how far they got',
  commands: [
    create,
    endpointCommand('placements.list', {
      usualFlags:
        '--limit --session-id --job-id --campaign-id --format --fill --reason --billed --reached --missing --since --columns',
      empty: 'No placements yet. Create one: svc placements create',
      examples: [
        'placements list',
        'placements list --missing visible',
        'placements list --reason no_demand --since 10m -o jsonl',
      ],
      columns: [
        { name: 'when', field: 'created_at_ms', kind: 'time', paint: paintDim },
        { name: 'slot', field: 'slot_id', kind: 'id' },
        { name: 'job', field: 'job_type', rank: 3 },
        { name: 'key', field: 'mode', rank: 5 },
        { name: 'status', paint: paintWord },
        { name: 'format', rank: 2 },
        { name: 'no-fill', field: 'no_fill_reason', paint: paintReason },
        { name: 'campaign', field: 'campaign_id', rank: 4, paint: paintDim },
        { name: 'forced', rank: 6, paint: paintWord },
      ],
    }),
    endpointCommand('placements.funnel', {
      examples: ['placements funnel', 'placements funnel --session-id sess_1 --since 1h -o json'],
      tables: [funnelColumns, reasonColumns],
      text: (funnel, style) => funnelTables(funnel, style),
      rows: ({ formats }) => formats,
    }),
  ],
}

/** Returns the command of a slot that also takes a request, and follows it to its slot. */
function ofRequest(command: Command): Command {
  return {
    ...command,
    async run(context, input) {
      const [id] = input.args
      if (id?.startsWith('req_') !== true) return command.run(context, input)
      const { slot_id } = await context
        .client()
        .requests.show({ params: { request_id: id } }, { signal: context.signal })
      if (slot_id !== null) return command.run(context, { ...input, args: [slot_id] })
      const hint = `See what it was: svc requests show ${id}`
      throw new CliError('usage', 'slot_missing', `The request ${id} is about no slot.`, hint)
    },
  }
}

function funnelTables(funnel: PlacementFunnel, style: Style): string[] {
  const { placements: count, is_complete, fills, no_fills, pending, formats, no_fill_reasons } = funnel
  return [
    `${is_complete ? '' : 'the newest '}${plural(count, 'placement')}: ${fills} filled, ${no_fills} not filled, ${pending} pending`,
    '',
    ...tableLines(funnelColumns, formats, style),
    ...tableSection('No-fills', reasonColumns, no_fill_reasons, style),
  ]
}

function explanation(detail: PlacementDetail, style: Style, isEach: boolean): string[] {
  const { decided_at_ms, first_frame_at_ms, partner_request } = detail
  return [
    ...alignPairs(
      [
        ['slot', detail.slot_id],
        ['job', `${detail.job_id}, ${detail.job_type}, ${detail.mode} key of ${detail.client_id}`],
        ['session', detail.session_id],
        ['outcome', outcomeText(detail, style)],
        ['written in', findSource(detail)],
        ['topic', detail.topic],
        ['prompt', detail.prompt_length === null ? null : `${detail.prompt_length} characters processed, none stored`],
        ['consent', consentLine(detail.consent)],
        ...detail.consent_strings.map((each): [string, string] => [each.standard, consentStringText(each, style)]),
        ['created', timeText(detail.created_at_ms, style)],
        ['decided', decided_at_ms === null ? null : timeText(decided_at_ms, style)],
        ['first frame', first_frame_at_ms === null ? null : timeText(first_frame_at_ms, style)],
        ['evidence', plural(detail.evidence.length, 'entry', 'entries')],
        ['billing', billingText(detail)],
        ['fix', detail.fix],
      ],
      style,
    ),
    ...tableSection('Auction', auctionColumns, (detail.auction ?? []).map(withCurrency), style),
    ...(isEach ? tableSection('Trace', campaignColumns, inOrder(detail), style) : traceByRule(detail, style)),
    ...section('Partner request', partner_request === null ? [] : describePartnerRequest(detail, style), style),
    ...tableSection('Beacons', beaconColumns, detail.beacons, style),
  ]
}

function withCurrency({ price_cpm, currency, ...step }: AuctionStep) {
  return { ...step, price_cpm: price_cpm === null ? null : `${price_cpm} ${currency ?? ''}`.trimEnd() }
}

/** What partners would have received, and what of it seems to be personal data. */
function describePartnerRequest({ partner_request, personal_data }: PlacementDetail, style: Style): string[] {
  const found = personal_data.map(({ path, kinds }) =>
    style.yellow(`! ${path} seems to contain ${listPersonalKinds(kinds)}: every partner would have received it.`),
  )
  return [...describeValue(partner_request, style), ...found]
}

/** Returns the file and line of the campaign that won, where it is one of your own: `demand.yaml:2`. */
function findSource({ trace }: PlacementDetail): string | null {
  const source = trace.find(({ outcome }) => outcome === 'won')?.source
  return source === undefined ? null : `${source.file}:${source.line}`
}

function outcomeText(
  { status, fill, format, campaign_id, forced, no_fill_reason, first_frame_at_ms }: PlacementDetail,
  style: Style,
): string {
  if (fill === null) return style.yellow(status)
  if (fill) {
    const offer = `${style.green('fill')}: ${format} of ${formatValue(campaign_id)}${forced ? ', forced' : ''}`
    // What was shown is not lost once its time is over.
    return status === 'expired' && first_frame_at_ms !== null ? `${offer}, shown; now expired` : `${status}, ${offer}`
  }
  if (no_fill_reason === null) return `${status}, ${style.yellow('no fill')}`
  return `${status}, ${style.yellow('no fill')}: ${no_fill_reason}. ${noFillReasons[no_fill_reason].meaning}`
}

function billingText({ billing }: PlacementDetail): string | null {
  return billing === null ? null : describeBilling(billing).text
}

const outcomes = { won: 0, outbid: 1, removed: 2 }

/** Returns each campaign: the winner first, then the outbid ones, then the removed ones. */
function inOrder({ trace }: PlacementDetail): PlacementDetail['trace'] {
  return [...trace].sort((a, b) => outcomes[a.outcome] - outcomes[b.outcome])
}

/** Returns the campaigns that made an offer, and how many each rule removed, most first. */
function traceByRule(detail: PlacementDetail, style: Style): string[] {
  const offers = inOrder(detail).filter(({ outcome }) => outcome !== 'removed')
  const removed = detail.trace.filter(({ outcome }) => outcome === 'removed')
  const rules = Object.entries(Object.groupBy(removed, ({ rule }) => rule ?? '-')).map(([rule, steps = []]) => {
    const texts = new Set(steps.map(({ explanation }) => explanation))
    return { rule, removed: steps.length, why: [...texts].slice(0, 2).join(' ') + (texts.size > 2 ? ' ...' : '') }
  })
  const sorted = rules.toSorted((a, b) => b.removed - a.removed)
  const title = `Removed ${removed.length} of ${detail.trace.length} campaigns`
  return [
    ...tableSection('Offers', offerColumns, offers, style),
    ...tableSection(title, ruleColumns, sorted, style),
    ...(removed.length === 0 ? [] : ['', style.dim('  Show all: --all')]),
  ]
}

function tableSection(title: string, columns: readonly Column[], rows: readonly object[], style: Style): string[] {
  return rows.length === 0 ? [] : section(title, tableLines(columns, rows, style, indent), style)
}

function section(title: string, lines: readonly string[], style: Style): string[] {
  return lines.length === 0 ? [] : ['', style.bold(title), ...lines.map((line) => `  ${line}`)]
}
