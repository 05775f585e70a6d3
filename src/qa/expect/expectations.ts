/** Judges an answer by what a step expects of it: one check for each expectation. */
import { errorCodes, type ReasonCode, reasonCodes } from '../../contract/errors.ts'
import type { JsonValue } from '../json.ts'
import type { Check } from '../result.ts'
import type { Answer } from '../steps/step-kind.ts'
import { describeExpected, matches } from './matchers.ts'
import { isObject, valueAt, withoutValue } from './paths.ts'
import type { Expect } from './schema.ts'

export type PlaceOf = (path: readonly (string | number)[]) => Pick<Check, 'place'>

/** What needs no further request. `pages` are statuses of reasons that an endpoint answers with a page. */
export function judge(
  expect: Expect,
  answer: Answer,
  earlier: (name: string) => Answer | undefined,
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
export function check(
  subject: string,
  wanted: JsonValue,
  actual: JsonValue | undefined,
  place: Pick<Check, 'place'>,
): Check {
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
  answer: Answer,
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
  { status, body }: Answer,
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

function bodyChecks({ body }: Expect, answer: Answer, placeOf: PlaceOf): Check[] {
  if (body === undefined) return []
  if (Object.keys(body).some((name) => name.startsWith('$'))) {
    return [check('body', body, answer.body, placeOf(['expect', 'body']))]
  }
  return Object.entries(body).map(([path, wanted]) =>
    check(`body.${path}`, wanted, valueAt(answer.body, path), placeOf(['expect', 'body', path])),
  )
}

function absentChecks({ absent }: Expect, answer: Answer, placeOf: PlaceOf): Check[] {
  return [absent ?? []].flat().map((path) => {
    const actual = valueAt(answer.body, path)
    return check(`body.${path}`, { $exists: false }, actual, placeOf(['expect', 'absent']))
  })
}

function keysChecks({ keys }: Expect, answer: Answer, placeOf: PlaceOf): Check[] {
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
  answer: Answer,
  earlier: (name: string) => Answer | undefined,
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
  const without = (body: JsonValue) => left.reduce(withoutValue, body)
  return [{ ...check(`same as ${step}`, literal(without(before.body)), without(answer.body), place) }]
}

/** An answer is never an operator, whatever it holds. */
function literal(value: JsonValue | undefined): JsonValue {
  return value === undefined ? { $exists: false } : value
}
