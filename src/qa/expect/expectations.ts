/** What a step may expect of its answer. */
/** Judges an answer by what a step expects of it: one check for each expectation. */
import { z } from 'zod'
import { eventTypes } from '../../contract/control/events.ts'
import { errorCodes, type ReasonCode, reasonCodes } from '../../contract/errors.ts'
import { isObject, type Json } from '../../foundation/json.ts'
import { valueAt, withoutValue } from '../../foundation/json-path.ts'
import type { Check, StepResponse } from '../result.ts'
import { AnyJson, orVariable } from '../suite/variables.ts'
import { describeExpected, matches } from './matchers.ts'

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

const ExpectedEvent = z.union([z.string(), z.strictObject({ type: z.string(), data: matchers.optional() })], {
  error: `must be a type such as ${eventTypes[1]}, or { type, data }`,
})
export type ExpectedEvent = z.infer<typeof ExpectedEvent>

const EvidenceKinds = z.array(z.enum(['decision', 'consent', 'beacon']))

export const Expect = z.strictObject({
  status: Status.optional().describe('Status: 200, [200, 201], 4xx. A success where neither this nor reason is given.'),
  reason: z
    .union([reason, z.array(reason).min(1)])
    .optional()
    .describe(`reason_code of the error body, such as ${Object.keys(reasonCodes)[0]}; its status follows from it.`),
  body: matchers.optional().describe('Members of the body by dotted path, and what they must be.'),
  absent: paths.optional().describe('Members that must not be there, by dotted path.'),
  keys: z
    .union([z.array(z.string()), z.record(z.string(), z.array(z.string()))])
    .optional()
    .describe('Exactly these members, of the body or of objects in it by dotted path.'),
  headers: matchers.optional().describe('Headers of the answer; null for one that must not be there.'),
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
    .describe('The body equals that of an earlier step; request_id is not compared.'),
  answer: z.literal('none').optional().describe('No answer comes: the connection breaks, or the answer ends early.'),
  duration_ms: AnyJson.optional().describe('How long the answer took.'),
  events: z.array(ExpectedEvent).min(1).optional().describe('Events of this case, in this order, others between them.'),
  billing: z
    .union([z.boolean(), matchers])
    .optional()
    .describe('Whether production would bill the placement, or members of the verdict by path.'),
  evidence: z
    .union([z.literal(true), EvidenceKinds])
    .optional()
    .describe('true: every chain holds. A list: the kinds of the entries about the slot, in order.'),
})
export type Expect = z.infer<typeof Expect>

export type PlaceOf = (path: readonly (string | number)[]) => Pick<Check, 'place'>

/** What needs no further request. `pages` are statuses of reasons that an endpoint answers with a page. */
export function judge(
  expect: Expect,
  answer: StepResponse,
  earlier: (name: string) => StepResponse | undefined,
  placeOf: PlaceOf,
  pages: Readonly<Partial<Record<ReasonCode, number>>> = {},
): Check[] {
  return [
    ...statusChecks(expect, answer, placeOf, pages),
    ...Object.entries(expect.headers ?? {}).map(([name, wanted]) => {
      const actual = answer.headers[name.toLowerCase()]
      const expected = wanted === null ? { $exists: false } : wanted
      return check(`header ${name.toLowerCase()}`, expected, actual, placeOf(['expect', 'headers', name]))
    }),
    ...bodyChecks(expect, answer, placeOf),
    ...absentChecks(expect, answer, placeOf),
    ...keysChecks(expect, answer, placeOf),
    ...sameChecks(expect, answer, earlier, placeOf),
    ...(expect.duration_ms === undefined
      ? []
      : [check('duration_ms', expect.duration_ms, answer.duration_ms, placeOf(['expect', 'duration_ms']))]),
  ]
}

/** One value against what it should be. */
export function check(subject: string, wanted: Json, actual: Json | undefined, place: Pick<Check, 'place'>): Check {
  const passed = matches(wanted, actual)
  return {
    subject,
    passed,
    expected: describeExpected(wanted),
    actual: actual === undefined ? null : actual,
    ...(passed || actual !== undefined ? {} : { hint: 'It is not there.' }),
    ...place,
  }
}

function statusChecks(
  { status, reason }: Expect,
  answer: StepResponse,
  placeOf: PlaceOf,
  pages: Readonly<Partial<Record<ReasonCode, number>>>,
): Check[] {
  const checks: Check[] = []
  const reasons = reason === undefined ? [] : ([reason].flat() as ReasonCode[])
  const isPage = reasons.some((code) => pages[code] === answer.status) && typeof answer.body === 'string'
  if (status === undefined && reasons.length > 0) {
    const statuses = reasons.map((code) => (isPage ? pages[code]! : errorCodes[reasonCodes[code].error].status))
    checks.push(statusCheck(statuses, answer, placeOf(['expect', 'reason'])))
  }
  if (status !== undefined) checks.push(statusCheck([status].flat(), answer, placeOf(['expect', 'status'])))
  if (reasons.length > 0 && !isPage) {
    const wanted = reasons.length === 1 ? reasons[0]! : { $one_of: reasons }
    checks.push(check('reason_code', wanted, valueAt(answer.body, 'reason_code'), placeOf(['expect', 'reason'])))
  }
  return checks
}

function statusCheck(
  wanted: readonly (number | string)[],
  { status, body }: StepResponse,
  place: Pick<Check, 'place'>,
): Check {
  const passed = wanted.some((each) => (typeof each === 'number' ? each === status : each[0] === String(status)[0]))
  const unique = [...new Set(wanted)]
  const reason = valueAt(body, 'reason_code')
  return {
    subject: 'status',
    passed,
    expected: unique.length === 1 ? unique[0]! : unique,
    actual: status,
    ...(passed || typeof reason !== 'string'
      ? {}
      : { hint: `reason_code ${reason}: ${String(valueAt(body, 'message'))}` }),
    ...place,
  }
}

function bodyChecks({ body }: Expect, answer: StepResponse, placeOf: PlaceOf): Check[] {
  if (body === undefined) return []
  if (Object.keys(body).some((name) => name.startsWith('$'))) {
    return [check('body', body, answer.body, placeOf(['expect', 'body']))]
  }
  return Object.entries(body).map(([path, wanted]) =>
    check(`body.${path}`, wanted, valueAt(answer.body, path), placeOf(['expect', 'body', path])),
  )
}

function absentChecks({ absent }: Expect, answer: StepResponse, placeOf: PlaceOf): Check[] {
  return [absent ?? []].flat().map((path) => {
    const actual = valueAt(answer.body, path)
    return check(`body.${path}`, { $exists: false }, actual, placeOf(['expect', 'absent']))
  })
}

function keysChecks({ keys }: Expect, answer: StepResponse, placeOf: PlaceOf): Check[] {
  if (keys === undefined) return []
  const wanted: Record<string, string[]> = Array.isArray(keys) ? { '': keys } : keys
  return Object.entries(wanted).map(([path, names]) => {
    const value = valueAt(answer.body, path)
    const actual = isObject(value) ? Object.keys(value).toSorted() : (value ?? null)
    const expected = names.toSorted()
    return {
      subject: path === '' ? 'keys' : `keys of ${path}`,
      passed: matches(expected, actual),
      expected,
      actual,
      ...placeOf(['expect', 'keys']),
    }
  })
}

function sameChecks(
  { same_as }: Expect,
  answer: StepResponse,
  earlier: (name: string) => StepResponse | undefined,
  placeOf: PlaceOf,
): Check[] {
  if (same_as === undefined) return []
  const { step, paths, except } =
    typeof same_as === 'string' ? { step: same_as, paths: undefined, except: undefined } : same_as
  const before = earlier(step)
  const place = placeOf(['expect', 'same_as'])
  if (before === undefined) {
    return [{ subject: `same as ${step}`, passed: false, expected: `an answer of ${step}`, actual: null, ...place }]
  }
  if (paths !== undefined) {
    return paths.map((path) =>
      check(`body.${path}`, literal(valueAt(before.body, path)), valueAt(answer.body, path), place),
    )
  }
  const left = ['request_id', ...(except ?? [])]
  const without = (body: Json) => left.reduce(withoutValue, body)
  return [{ ...check(`same as ${step}`, literal(without(before.body)), without(answer.body), place) }]
}

/** An answer is never an operator, whatever it holds. */
function literal(value: Json | undefined): Json {
  return value === undefined ? { $exists: false } : value
}
