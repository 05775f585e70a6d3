/**
 * Everything the page itself has to do with placements. It knows no key: its own route asks for them. render.js is
 * loaded once consent is granted, not before. No-fill, pending, errors and a service that is not there are normal: the
 * slot stays empty and the turn goes on.
 */
type RenderJs = NonNullable<Window['SponsoredPlacement']>

let script: Promise<RenderJs> | null = null

export interface SponsoredTurn {
  /** The turn is over, and its ad stays beside the answer. One that has not come by now will not come. */
  finish(): void
  /** The turn is void, and its ad goes. */
  cancel(): void
}

/** A sponsored slot beside a turn of the chat. Answers at once and never throws: the turn does not wait for its ad. */
export function sponsorTurn(wanted: {
  id: string
  target: HTMLElement
  question: string
  renderer_url: string
}): SponsoredTurn {
  const { id, target, question, renderer_url } = wanted
  const cancelled = new AbortController()
  let isFinished = false
  let turn: SponsoredPlacementTurn | null = null
  void start()
  return {
    finish() {
      isFinished = true
      turn?.finish()
    },
    cancel: () => cancelled.abort(),
  }

  async function start(): Promise<void> {
    const renderer = await load(renderer_url, cancelled.signal)
    if (renderer === null || isFinished || cancelled.signal.aborted) return
    turn = renderer.startTurn({
      // The same id is the same turn: an effect that React's StrictMode runs twice asks once.
      turnId: id,
      target,
      endpoint: '/api/placement',
      body: { question, width: target.parentElement?.clientWidth ?? 0 },
      signal: cancelled.signal,
      keepMounted: true,
    })
    turn.on('rendered', () => target.setAttribute('data-rendered', ''))
    turn.on('error', ({ code, reason_code = '' }) => console.info('sponsored placement:', code, reason_code))
  }
}

/** Takes every ad away. */
export function clearSponsored(): void {
  window.SponsoredPlacement?.destroy()
}

/** render.js; null when it cannot be loaded, and then the next turn tries again. */
async function load(src: string, signal: AbortSignal): Promise<RenderJs | null> {
  // An effect of StrictMode that is undone at once loads nothing.
  await Promise.resolve()
  if (signal.aborted) return null
  script ??= new Promise((resolve, reject) => {
    const element = Object.assign(document.createElement('script'), { src, async: true })
    element.onload = () => resolve(window.SponsoredPlacement!)
    element.onerror = () => reject(new Error(`${src} could not be loaded`))
    document.head.append(element)
  })
  try {
    return await script
  } catch (problem) {
    script = null
    console.info('sponsored placement:', String(problem))
    return null
  }
}
