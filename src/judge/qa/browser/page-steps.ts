/** `svc observe --steps`: what is done to the integrator's page, in the words of the `page` step of suites. */

import { stripVTControlCharacters } from 'node:util'
import type { Page } from 'playwright-core'
import { z } from 'zod'
import type { SourceLocation } from '#foundation/finding.ts'
import { readMessage } from '#foundation/system-error.ts'
import { parseYaml } from '#yaml/parse.ts'
import { findProblems, problemText, SuiteError, type SuiteProblem } from '#yaml/problems.ts'
import { pause } from '../steps/step-kind.ts'
import { durationMs } from '../suite/variables.ts'
import { ConsentToolStep, changeConsentTool, installConsentTool } from './consent-tool.ts'
import { Action } from './schema.ts'
import { eventsInPage, eventText, isEvent } from './steps.ts'

const selector = z.string().min(1)

/** Unlike the page of a suite, this one has elements that svc does not know: they are named by a selector. */
const PageStep = Action.pick({ wait_for: true, wait: true, run: true }).extend({
  click: selector.optional().describe('A CSS selector, text=Accept, or role=button[name="Accept"].'),
  fill: z
    .strictObject({ field: selector, text: z.string() })
    .optional()
    .describe('A field, by its selector, and the text to type into it.'),
  press: z.string().min(1).optional().describe('A key: Enter, Tab, Escape.'),
  cmp: ConsentToolStep.optional().describe(
    'A consent tool, __tcfapi and __gpp: granted, denied, withdrawn, late or absent. As the first step it is there before the page.',
  ),
})
type PageStep = z.infer<typeof PageStep>

/** The longest that a step waits for the page. */
const patienceMs = 10_000
const intervalMs = 100

/** The steps of a file, which the call does. */
export interface PageSteps {
  (page: Page, signal: AbortSignal): Promise<void>
  /** What must be there before the page is opened. */
  prepare(page: Page): Promise<void>
}

/**
 * Returns what does the steps of a file on a page, which throws PageStepFailed. Throws SuiteError with everything that is
 * wrong in the file.
 */
export function loadPageSteps(
  text: string,
  file: string,
  timeout = patienceMs,
  now: () => number = Date.now,
): PageSteps {
  const { value, places } = parseYaml(text, file)
  const problems: SuiteProblem[] = Array.isArray(value)
    ? value.flatMap((step, index) => findProblems(PageStep, step, [index], places))
    : [
        {
          place: places.of([]),
          message: 'This is not a list of steps.',
          hint: 'Begin each with a dash: - click: text=Accept',
        },
      ]
  if (problems.length > 0) throw new SuiteError(problems)
  const steps = value as PageStep[]
  const first = steps[0]?.cmp
  const run = async (page: Page, signal: AbortSignal) => {
    for (const [index, step] of steps.entries()) {
      for (const name of Object.keys(step) as (keyof PageStep)[]) {
        // It was installed before the page.
        if (name === 'cmp' && index === 0) continue
        const problem = await runStep(step, name, page, { signal, timeout, now })
        if (signal.aborted) return
        if (problem !== null) {
          throw new PageStepFailed({ place: places.ofName([index], name), ...problem }, name === 'wait_for')
        }
      }
    }
  }
  return Object.assign(run, {
    prepare: async (page: Page) => {
      if (first !== undefined) await installConsentTool(page, first, now())
    },
  })
}

/** A step could not be done. */
export class PageStepFailed extends Error {
  override readonly name = 'PageStepFailed'
  readonly hint: string
  /** In the file of steps. */
  readonly place: SourceLocation
  /** Whether it waited for an event of render.js: then what kept the ad away is the cause. */
  readonly is_wait: boolean

  constructor({ hint, ...problem }: SuiteProblem, is_wait: boolean) {
    super(problemText({ ...problem, hint: '' }))
    this.hint = hint
    this.place = problem.place
    this.is_wait = is_wait
  }
}

type Problem = Omit<SuiteProblem, 'place'>

interface Limits {
  signal: AbortSignal
  /** The longest that a step waits for the page, milliseconds. */
  timeout: number
  /** Epoch milliseconds, for the strings of a consent tool. */
  now: () => number
}

/** Resolves to what kept the step from being done, or null. */
async function runStep(
  { click, fill, press, wait, wait_for, run, cmp }: PageStep,
  name: keyof PageStep,
  page: Page,
  { signal, timeout, now }: Limits,
): Promise<Problem | null> {
  try {
    if (name === 'click') await page.locator(click!).first().click({ timeout })
    else if (name === 'fill') await page.locator(fill!.field).first().fill(fill!.text, { timeout })
    else if (name === 'press') await page.keyboard.press(press!)
    else if (name === 'run') await page.evaluate(`(async () => {${run}\n})()`)
    else if (name === 'cmp') await changeConsentTool(page, cmp!, now())
    else if (name === 'wait') await pause(durationMs(wait!), { signal })
    else return await waitForEvent(wait_for!, page, { signal, timeout, now })
    return null
  } catch (error) {
    const wanted = name === 'click' ? click : name === 'fill' ? fill?.field : undefined
    const isMissing =
      wanted !== undefined &&
      (await page
        .locator(wanted)
        .count()
        .catch(() => 1)) === 0
    const hint = 'Elements are named by a CSS selector, text=Accept, or role=button[name="Accept"].'
    if (isMissing) return { message: `Nothing on the page matches ${wanted}.`, hint }
    const [first = ''] = stripVTControlCharacters(readMessage(error)).split('\n')
    return {
      message: `${name} failed: ${first.replace(/^\w+\.\w+: (Error: )?/, '')}`,
      hint: 'Look at it: --interactive',
    }
  }
}

async function waitForEvent(
  wanted: NonNullable<PageStep['wait_for']>,
  page: Page,
  { signal, timeout }: Limits,
): Promise<Problem | null> {
  const ends_at = performance.now() + timeout
  let seen: Awaited<ReturnType<typeof eventsInPage>> = []
  while (performance.now() < ends_at && !signal.aborted) {
    // A page that navigates has no events for a moment.
    seen = await page.evaluate(eventsInPage).catch(() => [])
    if (seen.some((event) => isEvent(event, wanted))) return null
    await pause(intervalMs, { signal })
  }
  const what = typeof wanted === 'string' ? wanted : wanted.type
  const list = seen.map(eventText).join(', ') || 'none'
  return { message: `render.js did not emit ${what} within ${timeout / 1_000} s.`, hint: `Its events: ${list}.` }
}
