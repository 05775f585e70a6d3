/** Runs in the page, before the cases: records what the page sees. It is sent there as source code. */

/** One case, as functions of the page. */
interface CaseCode {
  script(...given: Given): unknown
  runs: ((...given: Given) => unknown)[]
  /** Of each phase, by expression. */
  values: Record<string, (...given: Given) => unknown>[]
}

type Given = [
  section: HTMLElement,
  slot: Element | null,
  body: object,
  start: (options?: object) => void,
  origin: string,
]

/** What the page knows about a case. */
export interface CaseState {
  frames: number
  wrappers: number
  labels: number
  events: string[]
  values: Record<string, unknown>
}

interface Settings {
  origin: string
  run: string
  /** Whether every event of the page is one of its only case. */
  is_single: boolean
}

interface SeenEvent {
  type: string
  turn_id?: string
  code?: string
  reason?: string
  event?: string
}

interface Api {
  getEvents?: () => SeenEvent[]
  startTurn(options: object): { id: string }
}

export function preparePage({ origin, run, is_single }: Settings): void {
  const page = window as unknown as Record<string, unknown>
  const api = () => (page.SponsoredPlacement ?? {}) as Api
  const errors: string[] = []
  const lines: string[] = []
  const blocked: string[] = []
  Object.assign(page, { hostErrors: errors, hostConsole: lines, hostBlocked: blocked })
  addEventListener('error', ({ message }) => message && errors.push(message))
  addEventListener('unhandledrejection', ({ reason }) => errors.push(String(reason)))
  addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) =>
    blocked.push(`${effectiveDirective} ${blockedURI}`),
  )
  for (const level of ['warn', 'error'] as const) {
    const print = console[level].bind(console)
    console[level] = (...all: unknown[]) => {
      lines.push(all.map(String).join(' '))
      print(...all)
    }
  }

  // For the expressions of the cases: events with this type, code or beacon, and lines of the console with this word.
  page.hostEvents = (word: string) =>
    (api().getEvents?.() ?? []).filter(({ type, code, event }) => type === word || code === word || event === word)
  page.hostLines = (word: string) => lines.filter((line) => line.includes(word))

  const cases = new Map<string, { code: CaseCode; given: Given; turns: Set<string> }>()

  /** Returns the elements below a root that match, through open shadow roots. */
  const find = (root: ParentNode, selector: string): Element[] =>
    [...root.querySelectorAll('*')].flatMap((each) => [
      ...(each.matches(selector) ? [each] : []),
      ...(each.shadowRoot ? find(each.shadowRoot, selector) : []),
    ])

  const hasBox = (element: Element) => {
    const { width, height } = element.getBoundingClientRect()
    return width > 0 && height > 0
  }

  const isReadable = (label: Element) => {
    const { display, visibility, opacity, color, backgroundColor } = getComputedStyle(label)
    const isShown = display !== 'none' && visibility === 'visible' && Number(opacity) > 0.1
    const isLow = label.getBoundingClientRect().height <= 110
    return hasBox(label) && isLow && isShown && color !== backgroundColor && (label.textContent ?? '').trim() !== ''
  }

  page.hostCase = async (id: string, code: CaseCode) => {
    const section = document.getElementById(id)!
    const body = { session_id: `${run}-${id}`, job_type: 'chat', overrides: { allowed_formats: ['banner'] } }
    const slot = section.querySelector('.slot')
    const turns = new Set<string>()
    const start = (options = {}) => {
      turns.add(api().startTurn({ target: slot, endpoint: '/api/placement', body, keepMounted: true, ...options }).id)
    }
    const given: Given = [section, slot, body, start, origin]
    cases.set(id, { code, given, turns })
    try {
      await code.script(...given)
    } catch (error) {
      errors.push(`${id}: ${error}`)
    }
  }

  page.hostRun = async (id: string, phase: number) => {
    const { code, given } = cases.get(id)!
    await code.runs[phase]?.(...given)
  }

  page.hostState = (id: string, phase: number): CaseState => {
    const { code, given, turns } = cases.get(id)!
    const [section] = given
    const resultOf = (read: (...given: Given) => unknown) => {
      try {
        return read(...given) ?? null
      } catch (error) {
        return `throws ${error}`
      }
    }
    return {
      frames: find(section, 'iframe').filter(
        (each) => (each as HTMLIFrameElement).src.startsWith(`${origin}/v1/render/`) && hasBox(each),
      ).length,
      wrappers: find(section, '[data-sp-placement]').length,
      labels: find(section, '[data-sp-label]').filter(isReadable).length,
      events: (api().getEvents?.() ?? [])
        .filter(({ turn_id }) => is_single || turns.has(turn_id ?? ''))
        .flatMap(({ type, code, reason }) => [type, `${type} ${code ?? reason}`]),
      values: Object.fromEntries(
        Object.entries(code.values[phase] ?? {}).map(([expression, read]) => [expression, resultOf(read)]),
      ),
    }
  }
}
