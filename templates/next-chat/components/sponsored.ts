/**
 * The page's part of placements. It has no key: the app's own route requests them. render.js is
 * loaded once consent is granted, not before. No-fill, pending, errors and an unavailable service are normal: the
 * slot stays empty and the turn goes on.
 */
type RenderJs = NonNullable<Window['SponsoredPlacement']>

let script: Promise<RenderJs> | null = null

export interface SponsoredTurn {
  /** The turn is over, and its ad stays next to the answer. An ad that has not arrived by now is dropped. */
  finish(): void
  /** The turn is cancelled, and its ad is removed. */
  cancel(): void
}

/** A sponsored slot for a turn of the chat. Returns immediately and never throws: the turn does not wait for its ad. */
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
      // The same id is the same turn: an effect that React's StrictMode runs twice sends one request.
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

/** Removes every ad. */
export function clearSponsored(): void {
  window.SponsoredPlacement?.destroy()
}

/** render.js; null if it cannot be loaded, in which case the next turn tries again. */
async function load(src: string, signal: AbortSignal): Promise<RenderJs | null> {
  // An effect that StrictMode undoes immediately loads nothing.
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
