/** The consent tool that a publisher has in its page, simulated: the product asks it as it would ask a real one. */
import { type ConsentToolSetup, simulateConsentTool } from '#foundation/consent/tool.ts'
import type { Choices } from './surfaces.ts'

export type ToolStrings = Omit<ConsentToolSetup, 'state' | 'after_ms'>

/** When a late tool has loaded, milliseconds. */
const lateMs = 4_000
let isLoading = false

/** Puts the chosen tool into the page, with the answer of the user. */
export function changeConsentTool(tool: Choices['tool'], isRefusal: boolean, strings: ToolStrings): void {
  const change = (state: ConsentToolSetup['state'], after_ms: number | null = null) =>
    simulateConsentTool({ state, after_ms, ...strings })
  if (tool === 'absent') {
    isLoading = false
    change('absent')
  } else if (tool === 'ready' || isRefusal) change(isRefusal ? 'denied' : 'granted')
  else if (!isLoading) {
    isLoading = true
    change('late', lateMs)
  }
}

interface ToolWindow {
  __tcfapi?: (
    command: 'addEventListener',
    version: 2,
    callback: (data: { tcString: string; eventStatus: string }, success: boolean) => void,
  ) => void
  __gpp?: (command: 'ping', callback: (data: { gppString: string }) => void) => void
}

/** Resolves to the strings of the tool, as POST /v1/consent takes them; null when it does not answer in time. */
export function readToolStrings(timeout_ms: number): Promise<{ tcf_string: string; gpp_string: string } | null> {
  const { __tcfapi, __gpp }: Window & ToolWindow = window
  return new Promise((resolve) => {
    setTimeout(() => resolve(null), timeout_ms)
    __tcfapi?.('addEventListener', 2, ({ tcString, eventStatus }, success) => {
      if (!success || eventStatus === 'cmpuishown') return
      __gpp?.('ping', ({ gppString }) => resolve({ tcf_string: tcString, gpp_string: gppString }))
    })
  })
}
