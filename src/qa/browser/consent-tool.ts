/**
 * A consent tool (CMP) as pages know it: `__tcfapi` of TCF 2.2 and `__gpp` of GPP 1.1, with the frames and messages by which
 * frames find them. It is installed before the scripts of the page, or changed later, by a step of `svc qa observe`.
 */
import type { Page } from 'playwright-core'
import { z } from 'zod'
import { Duration, durationMs } from '../suite/variables.ts'

const states = ['granted', 'denied', 'withdrawn', 'late', 'absent'] as const

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
  const facts = await factsOf(step, now_ms)
  if (facts.state !== 'absent') await page.addInitScript(consentToolInPage, facts)
}

/** Changes the tool of the page that is open, as the user does with it; installs it where there is none. */
export async function changeConsentTool(page: Page, step: ConsentToolStep, now_ms: number): Promise<void> {
  await page.evaluate(consentToolInPage, await factsOf(step, now_ms))
}

interface ToolFacts {
  state: (typeof states)[number]
  after_ms: number | null
  /** The strings of a grant, and of a refusal. */
  granted: { tcf: string; gpp: string }
  denied: { tcf: string; gpp: string }
  purposes: number[]
  vendors: number[]
}

async function factsOf(step: ConsentToolStep, now_ms: number): Promise<ToolFacts> {
  const { encodeConsentStrings } = await import('../../foundation/consent-strings.ts')
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

/** Runs in the page, and can use nothing from outside. */
function consentToolInPage({ state, after_ms, granted, denied, purposes, vendors }: ToolFacts): void {
  type Callback = (data: unknown, success?: boolean) => void
  interface Tool {
    status: 'stub' | 'loaded'
    isGranted: boolean
    strings: { tcf: string; gpp: string }
    hasActed: boolean
    listeners: Map<number, { standard: 'tcf' | 'gpp'; callback: Callback }>
    queue: (() => void)[]
    next: number
  }
  interface ToolWindow {
    svcConsentTool?: Tool | undefined
    __tcfapi?: unknown
    __gpp?: unknown
  }
  const here = window as ToolWindow
  if (window !== window.top) return
  if (state === 'absent') {
    delete here.__tcfapi
    delete here.__gpp
    here.svcConsentTool = undefined
    return
  }
  const isNew = here.svcConsentTool === undefined
  here.svcConsentTool ??= {
    status: 'stub',
    isGranted: false,
    strings: denied,
    hasActed: false,
    listeners: new Map(),
    queue: [],
    next: 1,
  }
  const tool = here.svcConsentTool
  const all = (ids: readonly number[]) => Object.fromEntries(ids.map((id) => [id, tool.isGranted]))
  const tcData = (listenerId: number | null) => ({
    tcString: tool.strings.tcf,
    tcfPolicyVersion: 5,
    cmpId: 4095,
    cmpVersion: 1,
    gdprApplies: true,
    eventStatus: tool.hasActed ? 'useractioncomplete' : 'tcloaded',
    cmpStatus: 'loaded',
    listenerId,
    isServiceSpecific: true,
    useNonStandardTexts: false,
    publisherCC: 'DE',
    purposeOneTreatment: false,
    purpose: { consents: all(purposes), legitimateInterests: {} },
    vendor: { consents: all(vendors), legitimateInterests: {} },
    specialFeatureOptins: {},
  })
  const gppData = () => ({
    gppVersion: '1.1',
    cmpStatus: tool.status,
    cmpDisplayStatus: 'hidden',
    signalStatus: tool.status === 'loaded' ? 'ready' : 'not ready',
    supportedAPIs: ['2:tcfeuv2'],
    cmpId: 4095,
    sectionList: [2],
    applicableSections: [2],
    gppString: tool.strings.gpp,
    parsedSections: {},
  })
  const notify = () => {
    for (const [id, { standard, callback }] of tool.listeners) {
      if (standard === 'tcf') callback(tcData(id), true)
      else callback({ eventName: 'signalStatus', listenerId: id, data: 'ready', pingData: gppData() }, true)
    }
  }
  const change = (isGranted: boolean, hasActed: boolean) => {
    Object.assign(tool, { status: 'loaded', isGranted, hasActed, strings: isGranted ? granted : denied })
    for (const call of tool.queue.splice(0)) call()
    notify()
  }
  const whenLoaded = (call: () => void) => (tool.status === 'loaded' ? call() : tool.queue.push(call))
  if (isNew) {
    here.__tcfapi = (command: string, _version: number, callback: Callback, parameter?: unknown) => {
      if (command === 'ping') {
        const { status } = tool
        callback({ gdprApplies: true, cmpLoaded: status === 'loaded', cmpStatus: status, apiVersion: '2.2' }, true)
      } else if (command === 'addEventListener') {
        whenLoaded(() => {
          const id = tool.next++
          tool.listeners.set(id, { standard: 'tcf', callback })
          callback(tcData(id), true)
        })
      } else if (command === 'removeEventListener') {
        callback(tool.listeners.delete(Number(parameter)), true)
      } else if (command === 'getTCData') {
        whenLoaded(() => callback(tcData(null), true))
      } else callback(null, false)
    }
    here.__gpp = (command: string, callback: Callback, parameter?: unknown) => {
      if (command === 'ping') callback(gppData(), true)
      else if (command === 'addEventListener') {
        const id = tool.next++
        tool.listeners.set(id, { standard: 'gpp', callback })
        callback({ eventName: 'listenerRegistered', listenerId: id, data: true, pingData: gppData() }, true)
      } else if (command === 'removeEventListener') callback(tool.listeners.delete(Number(parameter)), true)
      else if (command === 'hasSection') callback(String(parameter).startsWith('tcfeu'), true)
      else callback(null, false)
    }
    // How the script of a frame asks the tool of the window around it.
    addEventListener('message', ({ data, source }) => {
      const call = (
        data as { __tcfapiCall?: { command: string; version: number; callId: unknown; parameter?: unknown } }
      )?.__tcfapiCall
      if (call === undefined) return
      const reply: Callback = (returnValue, success) =>
        source?.postMessage({ __tcfapiReturn: { returnValue, success, callId: call.callId } }, { targetOrigin: '*' })
      ;(here.__tcfapi as (...values: unknown[]) => void)(call.command, call.version, reply, call.parameter)
    })
    document.addEventListener('DOMContentLoaded', () => {
      for (const name of ['__tcfapiLocator', '__gppLocator']) {
        const frame = document.createElement('iframe')
        frame.name = name
        frame.hidden = true
        document.body.append(frame)
      }
    })
  }
  if (state === 'late') {
    if (after_ms !== null) setTimeout(() => change(true, false), after_ms)
  } else change(state === 'granted', !isNew)
}
