/** The file of a game day: turns at a rate, a timeline of faults, and what must hold. Its schema and its reader. */
import { z } from 'zod'
import { Format } from '#contract/fields.ts'
import { durationPattern, parseDuration } from '#foundation/duration.ts'
import { parseYaml } from '#yaml/parse.ts'
import { findProblems, type Places, SuiteError, type SuiteProblem } from '#yaml/problems.ts'

/** The longest run, milliseconds: each file is played twice. */
const maxLengthMs = 3_600_000
/** One process plays all turns, and each is kept until the end. */
const maxTurns = 20_000

const Duration = z.string().regex(durationPattern, 'must be a duration, such as 500ms or 30s')
const Percent = z
  .string()
  .regex(/^(\d{1,2}(\.\d{1,3})?|100) ?%$/, 'must be a percentage from 0 % to 100 %, such as 90 %')

const faultNames = ['partner_slow', 'rate_limited', 'away', 'consent_late'] as const
export type FaultName = (typeof faultNames)[number]

const Fault = z.strictObject({
  fault: z
    .enum(faultNames)
    .describe(
      'partner_slow: placements, jobs and decisions take longer. rate_limited: 429. away: every connection is reset. consent_late: the consent tool has no answer for a while.',
    ),
  at: Duration.describe('When it begins, from the start of the run.'),
  for: Duration.describe('How long it lasts.'),
  latency: Duration.optional().describe(
    'For partner_slow and consent_late: how long they take; of partner_slow the median.',
  ),
  share: Percent.optional().describe('For rate_limited: the share of requests that get a 429. Default 100 %.'),
  retry_after: Duration.optional().describe('For rate_limited: its Retry-After, whole seconds. Default 1s.'),
})

const Expectations = z.strictObject({
  fills: Percent.optional().describe('The least share of the fills of the run without faults.'),
  billed: Percent.optional().describe('The least share of the billed views of the run without faults.'),
  median: Duration.optional().describe('The longest median latency of the run with faults.'),
  p95: Duration.optional().describe('The longest latency of 95 % of its turns.'),
  p99: Duration.optional().describe('The longest latency of 99 % of its turns.'),
  recovery: Duration.optional().describe('The longest time from the end of a fault to the last turn that it cost.'),
})

const GamedayFile = z.strictObject({
  gameday: z.string().min(1).max(80).describe('Name of the game day, for reports.'),
  seed: z.int().min(0).max(1_000_000).optional().describe('The same seed makes the same plan. Default 1.'),
  rate: z.number().min(0.1).max(200).describe('Turns a second. They start at their times, whatever the responses do.'),
  length: Duration.describe('How long turns start, without the faults and again with them.'),
  formats: z.array(Format).min(1).optional().describe('Formats of the turns, drawn by the seed. Default: banner.'),
  view: Duration.optional().describe('How long each ad is in view. Default 2500ms, which counts in every format.'),
  patience: Duration.optional().describe(
    'How long a turn waits for the consent tool and its decision, then it goes on without an ad. Default 3s.',
  ),
  timeline: z.array(Fault).min(1).max(30).describe('The faults, in any order.'),
  expect: Expectations.describe('What must hold, at least one; exit code 5 when something does not.'),
})

/** A fault of the timeline, in milliseconds from the start of the run. */
export interface TimedFault {
  fault: FaultName
  at_ms: number
  end_ms: number
  /** 0 for faults without one. */
  latency_ms: number
  /** Share of the requests that it applies to, of 1. */
  rate: number
  retry_after_s: number
}

/** What must hold: shares in percent, times in milliseconds. */
export type Expectation = keyof z.infer<typeof Expectations>

export interface Gameday {
  name: string
  seed: number
  /** Turns a second. */
  rate: number
  length_ms: number
  formats: readonly Format[]
  view_ms: number
  patience_ms: number
  /** By their beginning. */
  timeline: readonly TimedFault[]
  expect: ReadonlyMap<Expectation, number>
}

/** Returns a game day. `file` is its name in messages. Throws SuiteError with everything that is wrong. */
export function loadGameday(text: string, file: string): Gameday {
  const { value, places } = parseYaml(text, file)
  const problems = findProblems(GamedayFile, value, [], places)
  if (problems.length > 0) throw new SuiteError(problems)
  const data = GamedayFile.parse(value)
  const gameday: Gameday = {
    name: data.gameday,
    seed: data.seed ?? 1,
    rate: data.rate,
    length_ms: milliseconds(data.length),
    formats: data.formats ?? ['banner'],
    view_ms: milliseconds(data.view ?? '2500ms'),
    patience_ms: milliseconds(data.patience ?? '3s'),
    timeline: data.timeline.map(readFault).toSorted((one, other) => one.at_ms - other.at_ms),
    expect: readExpectations(data.expect),
  }
  const wrong = [...data.timeline.flatMap((fault, index) => faultProblems(fault, index, gameday, places))]
  wrong.push(...runProblems(gameday, places))
  if (wrong.length > 0) throw new SuiteError(wrong)
  return gameday
}

/** Returns the JSON schema of the files, for editors: `fixtures/svc.gameday.schema.json`. */
export function gamedaySchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(GamedayFile, { io: 'input' })
  return { $schema, $id: 'urn:svc:gameday:v1', ...schema }
}

type FaultData = z.infer<typeof Fault>

function readFault({ fault, at, for: length, latency, share, retry_after }: FaultData): TimedFault {
  const at_ms = milliseconds(at)
  return {
    fault,
    at_ms,
    end_ms: at_ms + milliseconds(length),
    latency_ms: latency === undefined ? 0 : milliseconds(latency),
    rate: share === undefined ? 1 : Number.parseFloat(share) / 100,
    retry_after_s: Math.ceil(milliseconds(retry_after ?? '1s') / 1_000),
  }
}

function readExpectations(given: z.infer<typeof Expectations>): ReadonlyMap<Expectation, number> {
  const entries = Object.entries(given) as [Expectation, string][]
  return new Map(
    entries.map(([name, text]) => [name, text.endsWith('%') ? Number.parseFloat(text) : milliseconds(text)]),
  )
}

/** The text has matched the pattern. */
function milliseconds(text: string): number {
  return Math.round(parseDuration(text) ?? 0)
}

/** The fields that a fault needs, and those that it may have. */
const faultFields: Record<FaultName, { needed: readonly FaultField[]; allowed: readonly FaultField[] }> = {
  partner_slow: { needed: ['latency'], allowed: ['latency'] },
  rate_limited: { needed: [], allowed: ['share', 'retry_after'] },
  away: { needed: [], allowed: [] },
  consent_late: { needed: ['latency'], allowed: ['latency'] },
}
const optionalFields = ['latency', 'share', 'retry_after'] as const
type FaultField = (typeof optionalFields)[number]

function faultProblems(data: FaultData, index: number, { length_ms }: Gameday, places: Places): SuiteProblem[] {
  const { needed, allowed } = faultFields[data.fault]
  const path = ['timeline', index]
  const { at_ms, end_ms, latency_ms } = readFault(data)
  const problems: SuiteProblem[] = []
  const report = (field: string, message: string, hint: string) =>
    problems.push({ place: places.of([...path, field]), message, hint })
  for (const field of optionalFields) {
    const isGiven = data[field] !== undefined
    if (needed.includes(field) && !isGiven) report('fault', `${data.fault} needs ${field}.`, `For example ${field}: 2s`)
    if (isGiven && !allowed.includes(field)) report(field, `${data.fault} has no ${field}.`, 'Leave it out.')
  }
  if (end_ms === at_ms) report('for', 'The fault lasts no time.', 'Write how long it lasts: for: 10s')
  if (end_ms > length_ms)
    report('for', 'The fault ends after the run.', 'Make length longer, so that turns show whether the app recovers.')
  if (latency_ms > 60_000) report('latency', 'latency is too long.', 'It may be at most 60s.')
  return problems
}

function runProblems({ rate, length_ms, expect, timeline }: Gameday, places: Places): SuiteProblem[] {
  const problems: SuiteProblem[] = []
  const report = (field: string, message: string, hint: string) =>
    problems.push({ place: places.of([field]), message, hint })
  const turns = Math.floor((rate * length_ms) / 1_000)
  if (expect.size === 0)
    report('expect', 'Nothing is expected, so nothing would be judged.', 'For example: { billed: 80 %, p95: 2s }')
  if (length_ms > maxLengthMs) report('length', 'The run is too long.', 'It may last at most 1h.')
  if (turns < 1) report('rate', 'No turn starts in this time.', 'Make rate higher or length longer.')
  if (turns > maxTurns)
    report('rate', `${turns.toLocaleString('en')} turns are too many.`, `At most ${maxTurns.toLocaleString('en')}.`)
  const lastEnd = Math.max(...timeline.map(({ end_ms }) => end_ms))
  if (expect.has('recovery') && length_ms - lastEnd < 1_000 / rate)
    report('expect', 'No turn starts after the last fault, so no recovery could be seen.', 'Make length longer.')
  return problems
}
