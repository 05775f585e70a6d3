/**
 * The ad label above the frame, kept readable. What counts is what a person sees, not the markup: extensions stamp attributes,
 * translation changes the words, a toolbar enlarges text, and the ad stays. A label that is gone, hidden, empty or unreadable is
 * drawn again. One that does not stay readable for longer than a page takes to redraw costs the page the ad.
 */
import { labelSchemeStyle, labelStyle } from '#contract/facts/label-style.ts'
import { setStyles } from '../dom.ts'
import type { LabelParts, LabelState } from '../judge/label.ts'
import type { JudgePart } from './judge-part.ts'

/** Redraws at once, before the page is given time: a script that removes the label whenever it is drawn would never end. */
const maxQuickRedraws = 3
/** How long a label must stay to count as kept, and how often it may fail to. Together longer than any redraw of a page. */
const redrawIntervalMs = 250
const maxFailures = 4

export interface Label {
  readonly element: HTMLElement
  /** Draws the label again if it cannot be read. Returns its state now; `pending` while nothing can judge it. */
  check(): LabelState | 'pending'
  close(): void
}

/**
 * Draws the label into the shadow root of the frame, before it, and keeps it there. `onDefeat` is called when that fails. What the page
 * has not touched can be read: the styles of the label are stronger than any of the page's. The rest is judged.
 */
export function keepLabel(
  frame: HTMLElement,
  [kind, sponsor_name]: readonly [string, string],
  judge: JudgePart,
  onDefeat: () => void,
): Label {
  const root = frame.getRootNode() as ShadowRoot
  const wrapper = root.host
  const { lang } = document.documentElement
  const texts = sampleTexts()
  let isTouched = false
  const draw = (): LabelParts => {
    const label = drawLabel(kind, sponsor_name)
    root.insertBefore(label, frame)
    isTouched = false
    return { label, frame, text: label.textContent!, lang, texts }
  }
  let parts = draw()
  let redraws = 0
  let failures = 0
  let isRewordingKept = false
  let timer: ReturnType<typeof setTimeout> | undefined
  const inspect = (): ReturnType<Label['check']> => {
    const { label } = parts
    isTouched ||= observer.takeRecords().some(({ target }) => target !== root && target !== wrapper)
    const isThere = label.parentNode === root && label.compareDocumentPosition(frame) & Node.DOCUMENT_POSITION_FOLLOWING
    if (!isThere || !label.textContent!.trim()) return 'unreadable'
    if (!isTouched) return 'readable'
    const part = judge.get()
    if (!part) judge.load(check)
    return part?.inspectLabel(parts) ?? 'pending'
  }
  /** Other words are put right once. Software that changes them again is a translator, and would go on for ever. */
  const isBad = (state: ReturnType<Label['check']>): boolean =>
    state === 'unreadable' || (state === 'reworded' && !isRewordingKept)
  const redraw = (): void => {
    isRewordingKept = inspect() === 'reworded'
    parts.label.remove()
    parts = draw()
  }
  /** Also called once the judgement has loaded: the ad may have been cleared meanwhile. */
  const check: Label['check'] = () => {
    if (frame.parentNode !== root) return 'pending'
    for (const name of ['aria-hidden', 'inert']) wrapper.removeAttribute(name)
    if (isBad(inspect())) {
      redraws += 1
      if (redraws <= maxQuickRedraws) redraw()
      timer ??= setTimeout(checkAgain, redrawIntervalMs)
    }
    return inspect()
  }
  function checkAgain(): void {
    timer = undefined
    if (!isBad(inspect())) {
      redraws = 0
      failures = 0
      return
    }
    failures += 1
    if (failures >= maxFailures) onDefeat()
    else {
      redraw()
      timer = setTimeout(checkAgain, redrawIntervalMs)
    }
  }
  const observer = watchParts(root, (records) => {
    isTouched ||= records.some(({ target }) => target !== root && target !== wrapper)
    check()
  })
  return {
    get element() {
      return parts.label
    },
    check,
    close: () => {
      observer.disconnect()
      clearTimeout(timer)
    },
  }
}

function watchParts(root: ShadowRoot, listener: MutationCallback): MutationObserver {
  const observer = new MutationObserver(listener)
  observer.observe(root, { childList: true, subtree: true, characterData: true, attributes: true })
  observer.observe(root.host, { attributes: true })
  return observer
}

/** Texts of the page by which it is known later whether it was translated. */
const maxTexts = 12

function sampleTexts(): Map<Node, string> {
  const texts = new Map<Node, string>()
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node && texts.size < maxTexts; node = walker.nextNode()) {
    if (/\p{L}{3}/u.test(node.nodeValue!) && !node.parentElement!.matches('script,style'))
      texts.set(node, node.nodeValue!)
  }
  return texts
}

function drawLabel(text: string, sponsor_name: string): HTMLElement {
  const label = document.createElement('div')
  label.dataset.spLabel = ''
  label.dir = 'auto'
  const kind = document.createElement('strong')
  kind.textContent = text
  setStyles(kind, { all: 'unset', 'font-weight': '650' })
  label.append(kind, ` · ${sponsor_name}`)
  setStyles(label, labelStyle)
  setStyles(label, labelSchemeStyle)
  return label
}
