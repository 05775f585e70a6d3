/**
 * The elements in the viewport, for what hit tests do not meet: layers that let clicks through, shadows, outlines. One survey of a
 * document serves all of its ads. It is made in slices, and again while it is asked for: computed styles are only read of what is on
 * the screen, and of the little that is near the body, where walls and tours are.
 */
import { isInTopLayer } from './order.ts'

export interface Survey {
  /** Whether there was one already. */
  isReady: boolean
  /** Everything with a box in the viewport. */
  shown: readonly Element[]
  /** What may paint where no hit test meets it. */
  missed: readonly Element[]
}

/** Elements at a time: a millisecond or two. */
const sliceSize = 1_000
const maxAgeMs = 500
/** Elements outside of the viewport whose shadows and marks may reach into it: of each level near the root, at most so many. */
const maxDepth = 3
const maxOutside = 200

const surveys = new WeakMap<Document, ReturnType<typeof openSurvey>>()

/** Returns the newest survey of a document, and starts another when it is old. */
export function survey(page: Document): Survey {
  const kept = surveys.get(page) ?? openSurvey(page)
  surveys.set(page, kept)
  return kept.read()
}

function openSurvey(page: Document) {
  let last: Survey = { isReady: false, shown: [], missed: [] }
  let isRunning = false
  let ended_at_ms = -maxAgeMs
  return {
    read: (): Survey => {
      if (!isRunning && performance.now() - ended_at_ms >= maxAgeMs) start()
      return last
    },
  }
  function start(): void {
    isRunning = true
    const steps = visit(page)
    const next = (): void => {
      const step = steps.next()
      if (!step.done) return void setTimeout(next)
      last = step.value
      ended_at_ms = performance.now()
      isRunning = false
    }
    next()
  }
}

function* visit(page: Document): Generator<void, Survey> {
  const shown: Element[] = []
  const missed: Element[] = []
  const { innerWidth, innerHeight } = page.defaultView!
  let count = 0
  const outside = Array.from({ length: maxDepth + 1 }, () => 0)
  const roots: (Document | ShadowRoot)[] = [page]
  for (let root = roots.pop(); root; root = roots.pop()) {
    for (const element of root.querySelectorAll('*')) {
      count += 1
      if (count % sliceSize === 0) yield
      if (element.shadowRoot && !element.hasAttribute('data-sp-placement')) roots.push(element.shadowRoot)
      const { left, right, top, bottom } = element.getBoundingClientRect()
      const isShown = right > 0 && left < innerWidth && bottom > 0 && top < innerHeight && right > left && bottom > top
      if (isShown) shown.push(element)
      else {
        const depth = countDepth(element)
        if (depth > maxDepth || outside[depth]! >= maxOutside) continue
        outside[depth]! += 1
      }
      if (isMissed(element, isShown)) missed.push(element)
    }
  }
  return { isReady: true, shown, missed }
}

function countDepth(element: Element): number {
  let depth = 0
  for (let at = element.parentElement; at && depth <= maxDepth; at = at.parentElement) depth += 1
  return depth
}

function isMissed(element: Element, isShown: boolean): boolean {
  const { pointerEvents, boxShadow, outlineStyle } = getComputedStyle(element)
  return (
    (isShown && pointerEvents === 'none') ||
    (boxShadow || 'none') !== 'none' ||
    outlineStyle !== 'none' ||
    isInTopLayer(element) ||
    ['::before', '::after'].some((name) => /^(none|normal|)$/.test(getComputedStyle(element, name).content) === false)
  )
}
