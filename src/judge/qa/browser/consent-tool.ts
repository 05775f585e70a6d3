/** The simulated consent tool as a step: installed before the scripts of a page, or changed later as the user does. */
import type { Page } from 'playwright-core'
import { z } from 'zod'
import { type ConsentToolSetup, simulateConsentTool } from '#foundation/consent/tool.ts'
import { Duration, durationMs } from '../suite/variables.ts'

const states = ['granted', 'denied', 'withdrawn', 'late', 'absent'] as const satisfies ConsentToolSetup['state'][]

const ConsentTool = z.strictObject({
  state: z
    .enum(states)
    .describe('What the tool says. late: only its stub is there; absent: nothing is. withdrawn: granted before.'),
  after: Duration.optional().describe(
    'For late: when the tool has loaded and consent is granted; default: a later step.',
  ),
  purposes: z.array(z.int().min(1).max(11)).optional().describe('TCF purposes that are consented to; default: all.'),
})

/** The step: `cmp: granted`, or with its options. */
export const ConsentToolStep = z.union([z.enum(states), ConsentTool])
export type ConsentToolStep = z.infer<typeof ConsentToolStep>

const allPurposes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
/** Vendors of the list of the tool: what a page does with them does not depend on who they are. */
const vendors = [1, 2, 3]

/** Installs the tool before the page loads. */
export async function installConsentTool(page: Page, step: ConsentToolStep, now_ms: number): Promise<void> {
  const facts = await prepareConsent(step, now_ms)
  if (facts.state !== 'absent') await page.addInitScript(simulateConsentTool, facts)
}

/** Changes the tool of the page that is open, as the user does with it; installs it where there is none. */
export async function changeConsentTool(page: Page, step: ConsentToolStep, now_ms: number): Promise<void> {
  await page.evaluate(simulateConsentTool, await prepareConsent(step, now_ms))
}

async function prepareConsent(step: ConsentToolStep, now_ms: number): Promise<ConsentToolSetup> {
  const { encodeConsentStrings } = await import('#foundation/consent/strings.ts')
  const { state, after, purposes = allPurposes } = typeof step === 'string' ? { state: step } : step
  return {
    state,
    after_ms: after === undefined ? null : durationMs(after),
    granted: encodeConsentStrings({ purposes, vendors, now_ms }),
    denied: encodeConsentStrings({ purposes: [], vendors: [], now_ms }),
    purposes,
    vendors,
  }
}
