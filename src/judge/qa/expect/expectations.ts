/**
 * The expectations of a step, and one check for each that compares it with the response.
 *
 * Matchers: a literal is compared field by field; an object whose field names begin with `$` consists of operators, all of
 * which must hold. Operators may stand anywhere within a literal.
 */
import { z } from 'zod'
import { acceptMeanings } from '#contract/error-codes.ts'
import { ErrorBody, errorCodes, type ReasonCode, reasonCodes } from '#contract/errors.ts'
import { noFillReasons } from '#contract/no-fill.ts'
import { EventType, eventTypes } from '#contract/resources/events.ts'
import { describeCauses } from '#contract/words/error-lines.ts'
import { isObject, type Json, valueAt, withoutValue } from '#foundation/json.ts'
import { findEntry } from '#foundation/table-entry.ts'
import type { Check, StepResponse } from '../result.ts'
import { AnyJson, orVariable } from '../suite/variables.ts'
import { describeExpected, matches } from './operators.ts'

/* Expectations */

const Status = orVariable(
  z.union([
    z.int().min(100).max(599),
    z.string().regex(/^[1-5]xx$/),
    z.array(z.union([z.int(), z.string().regex(/^[1-5]xx$/)])).min(1),
  ]),
  'a status such as 200, a list of them, or a class such as 4xx',
)

const reason = z.string()
const paths = z.union([z.string(), z.array(z.string()).min(1)])
const matchers = z.record(z.string(), AnyJson)

const WantedType = orVariable(EventType, `an event: ${eventTypes.join(', ')}`)

/** An event of the sandbox, by its type or with fields of its data by dotted path. */
export const ExpectedEvent = z.union([WantedType, z.strictObject({ type: WantedType, data: matchers.optional() })], {
  error: `must be a type such as ${eventTypes[1]}, or { type, data }`,
})

const EvidenceKinds = z.array(z.enum(['decision', 'consent', 'beacon']))

export const Expect = z.strictObject({
  status: Status.optional().describe('Status: 200, [200, 201], 4xx. Default without a reason: a success.'),
  reason: z
    .union([reason, z.array(reason).min(1)])
    .optional()
    .describe(`reason_code of the error body, such as ${Object.keys(reasonCodes)[0]}; it implies the status.`),
  body: matchers.optional().describe('Fields of the body by dotted path, and what they must be.'),
  absent: paths.optional().describe('Fields that must not be there, by dotted path.'),
  keys: z
    .union([z.array(z.string()), z.record(z.string(), z.array(z.string()))])
    .optional()
    .describe('Exactly these fields, of the body or of objects in it by dotted path.'),
  headers: matchers.optional().describe('Headers of the response; null for one that must not be there.'),
  same_as: z
    .union([
      z.string(),
      z.strictObject({
        step: z.string(),
        paths: z.array(z.string()).optional(),
        except: z.array(z.string()).optional(),
      }),
    ])
    .optional()
    .describe('The body equals the body of an earlier step; request_id is not compared.'),
  response: z
    .literal('none')
    .optional()
    .describe('No response comes: the connection breaks, or the response ends early.'),
  answer: z.literal('none').optional().describe('The earlier name of response.'),
  duration_ms: AnyJson.optional().describe('How long the response took, milliseconds.'),
  events: z.array(ExpectedEvent).min(1).optional().describe('Events of this case, in this order, others between them.'),
  billing: z
    .union([z.boolean(), matchers])
    .optional()
    .describe('Whether production would bill the placement, or fields of the verdict by path.'),
  evidence: z
    .union([z.literal(true), EvidenceKinds])
    .optional()
    .describe('true: every chain holds. A list: the kinds of the entries of the slot, in order.'),
})
export type Expect = z.infer<typeof Expect>

/** Returns the field by which a step expects that no response comes, under its present or its earlier name. */
export function findExpectedSilence(expect: Json | undefined): 'response' | 'answer' | undefined {
  return (['response', 'answer'] as const).find((name) => valueAt(expect, name) === 'none')
}

export type Locate = (path: readonly (string | number)[]) => Pick<Check, 'place'>

interface JudgeContext {
  /** Returns the response of an earlier step. */
  findResponse: (name: string) => StepResponse | undefined
  locate: Locate
  /** Statuses of reasons that are shown as a page. */
  pages?: Readonly<Partial<Record<ReasonCode, number>>>
}

/** Returns the checks that need no further request. */
export function judge(
  expect: Expect,
  response: StepResponse,
  { findResponse, locate, pages = {} }: JudgeContext,
): Check[] {
  return [
    ...statusChecks(expect, response, locate, pages),
    ...Object.entries(expect.headers ?? {}).map(([name, wanted]) => {
      const actual = response.headers[name.toLowerCase()]
      const expected = wanted === null ? { $exists: false } : wanted
      return check(`header ${name.toLowerCase()}`, expected, actual, locate(['expect', 'headers', name]))
    }),
    ...bodyChecks(expect, response, locate),
    ...absentChecks(expect, response, locate),
    ...keysChecks(expect, response, locate),
    ...sameChecks(expect, response, findResponse, locate),
    ...(expect.duration_ms === undefined
      ? []
      : [check('duration_ms', expect.duration_ms, response.duration_ms, locate(['expect', 'duration_ms']))]),
  ]
}

/** Returns one check: a value against what it should be. */
export function check(subject: string, wanted: Json, actual: Json | undefined, place: Pick<Check, 'place'>): Check {
  const passed = matches(wanted, actual)
  return {
    subject,
    passed,
    expected: describeExpected(wanted),
    actual: actual === undefined ? null : actual,
    ...(passed || actual !== undefined ? {} : { hint: 'It is missing.' }),
    ...place,
  }
}

function statusChecks(
  { status, reason }: Expect,
  response: StepResponse,
  locate: Locate,
  pages: Readonly<Partial<Record<ReasonCode, number>>>,
): Check[] {
  const checks: Check[] = []
  const reasons = reason === undefined ? [] : ([reason].flat() as ReasonCode[])
  const isPage = reasons.some((code) => pages[code] === response.status) && typeof response.body === 'string'
  if (status === undefined && reasons.length > 0) {
    const statuses = reasons.map((code) => (isPage ? pages[code]! : errorCodes[reasonCodes[code].error].status))
    checks.push(statusCheck(statuses, response, locate(['expect', 'reason'])))
  }
  if (status !== undefined) checks.push(statusCheck([status].flat(), response, locate(['expect', 'status'])))
  if (reasons.length > 0 && !isPage) {
    const wanted = reasons.length === 1 ? reasons[0]! : { $one_of: reasons }
    checks.push(check('reason_code', wanted, valueAt(response.body, 'reason_code'), locate(['expect', 'reason'])))
  }
  return checks
}

/** Returns the reason that a response gives, with its meaning: of an error, a beacon that does not count, a no-fill. Else null. */
export function readResponseReason(body: Json): string | null {
  const reason = valueAt(body, 'reason_code') ?? valueAt(body, 'decision.no_fill_reason')
  if (typeof reason !== 'string' || reason === 'OK') return null
  const said = valueAt(body, 'message')
  const known = findEntry(acceptMeanings, reason) ?? findEntry(noFillReasons, reason)?.meaning
  const meaning = typeof said === 'string' ? said : (known ?? findEntry(reasonCodes, reason)?.message)
  return meaning === undefined ? reason : `${reason}: ${meaning}`
}

/** Returns the invalid fields and the hint of an error body, as far as it has them. */
export function explainBody(body: unknown): string[] {
  const { data } = Causes.safeParse(body)
  return data === undefined ? [] : describeCauses(data)
}

/** Another service may have less, or more, in its error bodies. */
const Causes = z.object({ fields: ErrorBody.shape.fields.catch([]), hint: ErrorBody.shape.hint.catch('') })

function statusCheck(
  wanted: readonly (number | string)[],
  { status, body }: StepResponse,
  place: Pick<Check, 'place'>,
): Check {
  const passed = wanted.some((each) => (typeof each === 'number' ? each === status : each[0] === String(status)[0]))
  const unique = [...new Set(wanted)]
  const causes = passed ? [] : explainBody(body)
  return {
    subject: 'status',
    passed,
    expected: unique.length === 1 ? unique[0]! : unique,
    actual: status,
    ...(causes.length === 0 ? {} : { hint: causes.join('\n') }),
    ...place,
  }
}

function bodyChecks({ body }: Expect, response: StepResponse, locate: Locate): Check[] {
  if (body === undefined) return []
  if (Object.keys(body).some((name) => name.startsWith('$'))) {
    return [check('body', body, response.body, locate(['expect', 'body']))]
  }
  return Object.entries(body).map(([path, wanted]) =>
    check(`body.${path}`, wanted, valueAt(response.body, path), locate(['expect', 'body', path])),
  )
}

function absentChecks({ absent }: Expect, response: StepResponse, locate: Locate): Check[] {
  return [absent ?? []].flat().map((path) => {
    const actual = valueAt(response.body, path)
    return check(`body.${path}`, { $exists: false }, actual, locate(['expect', 'absent']))
  })
}

function keysChecks({ keys }: Expect, response: StepResponse, locate: Locate): Check[] {
  if (keys === undefined) return []
  const wanted: Record<string, string[]> = Array.isArray(keys) ? { '': keys } : keys
  return Object.entries(wanted).map(([path, names]) => {
    const value = valueAt(response.body, path)
    const actual = isObject(value) ? Object.keys(value).toSorted() : (value ?? null)
    return check(path === '' ? 'keys' : `keys of ${path}`, names.toSorted(), actual, locate(['expect', 'keys']))
  })
}

function sameChecks(
  { same_as }: Expect,
  response: StepResponse,
  earlier: (name: string) => StepResponse | undefined,
  locate: Locate,
): Check[] {
  if (same_as === undefined) return []
  const {
    step,
    paths,
    except = [],
  }: Exclude<typeof same_as, string> = typeof same_as === 'string' ? { step: same_as } : same_as
  const before = earlier(step)
  const place = locate(['expect', 'same_as'])
  if (before === undefined) {
    return [{ subject: `same as ${step}`, passed: false, expected: `a response of ${step}`, actual: null, ...place }]
  }
  if (paths !== undefined) {
    return paths.map((path) =>
      check(`body.${path}`, literal(valueAt(before.body, path)), valueAt(response.body, path), place),
    )
  }
  const left = ['request_id', ...except]
  const without = (body: Json) => left.reduce(withoutValue, body)
  return [check(`same as ${step}`, literal(without(before.body)), without(response.body), place)]
}

/** Returns a value of a response for comparison; undefined must stay absent. */
function literal(value: Json | undefined): Json {
  return value === undefined ? { $exists: false } : value
}
