/**
 * A consent tool (CMP) as pages know it: `__tcfapi` of TCF 2.2 and `__gpp` of GPP 1.1, with the frames and messages by which frames
 * find them. The whole is one function, which is also sent to pages as source code.
 */

export interface ConsentToolSetup {
  /** late: only its stub is there. withdrawn: granted before. */
  state: 'granted' | 'denied' | 'withdrawn' | 'late' | 'absent'
  /** For late: when the tool has loaded and consent is granted; null: never by itself. */
  after_ms: number | null
  /** The strings of a grant, and of a refusal. */
  granted: { tcf: string; gpp: string }
  denied: { tcf: string; gpp: string }
  /** TCF purposes and vendors that a grant consents to. */
  purposes: number[]
  vendors: number[]
}

/** Installs the tool in a page, or changes its state as the user does. Uses nothing from outside. */
export function simulateConsentTool({ state, after_ms, granted, denied, purposes, vendors }: ConsentToolSetup): void {
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
