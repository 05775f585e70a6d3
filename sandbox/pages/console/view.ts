/**
 * The console on the page: one element with a shadow root, so that no style goes in or out, and style sheets made by script, which
 * a strict policy allows. It takes no room in the layout and no pointer but over its own parts.
 */
import { findEntry } from '#foundation/table-entry.ts'
import { type Box, findVisibleBox, readBox, sharedArea } from './geometry.ts'
import { drawMarks } from './marks.ts'
import { type FindClickable, type Mover, openClickables, openMover } from './move.ts'
import { drawPanel, type PanelState } from './panel.ts'
import { findPlace, type Slot } from './slots.ts'
import { makeSheets } from './style.ts'
import { patchChildren } from './tree.ts'
import { describeState } from './words.ts'

/** Between two drawings while something may have moved or counted, milliseconds. */
const drawIntervalMs = 200
const copiedMs = 1_500
/** More of an ad is never covered while its view counts: the strictest view needs half of its pixels. */
const maxCoveredShare = 0.4

interface ViewOptions {
  /** Returns the slots as they are now, and what is known around them. */
  read(): Pick<PanelState, 'page' | 'channel' | 'actions' | 'slots'>
  copy(kind: string, slot: Slot): string
  onClose(): void
  hasPanel: boolean
}

export interface View {
  /** Draws again at once. */
  draw(): void
  focus(): void
  close(): void
}

/** A view as its steps see it. */
interface OpenView {
  readonly options: ViewOptions
  readonly host: HTMLElement
  readonly marks: HTMLElement
  readonly panel: HTMLElement
  readonly mover: Mover
  readonly news: News
  readonly findClickable: FindClickable
  /** Aborted when the view is closed. */
  readonly over: AbortController
  selected_key: string | null
  /** The slot that the last drawing had selected. */
  shown_key: string | null
  /** What the last drawing said about an action. */
  said: string | null
  /** Whether the user has collapsed the panel; null until it was asked for. */
  collapsed: boolean | null
  /** Whether the panel makes room for an ad. */
  isAside: boolean
  /** Whether the panel, open, would lie over something that can be clicked: then it is a chip until the user expands it. */
  isChip: boolean
  copied: string | null
}

export function openView(options: ViewOptions): View {
  const parts = buildHost()
  const focused = document.activeElement
  const view: OpenView = {
    options,
    ...parts,
    mover: openMover(parts.panel, () => isCollapsed(view)),
    news: openNews(),
    findClickable: openClickables(parts.host),
    over: new AbortController(),
    selected_key: null,
    shown_key: null,
    said: null,
    collapsed: null,
    isAside: false,
    isChip: false,
    copied: null,
  }
  const { host, panel, over, mover } = view
  const { signal } = over
  if (!options.hasPanel) panel.style.display = 'none'
  host.shadowRoot?.addEventListener('click', (event) => onClick(view, event), { signal })
  host.shadowRoot?.addEventListener('change', (event) => onChange(view, event), { signal })
  addEventListener('keydown', (event) => onKey(view, event), { signal })
  addEventListener('scroll', () => drawOutlines(view, options.read().slots), { signal, capture: true, passive: true })
  addEventListener('resize', () => drawAll(view), { signal, passive: true })
  const timer = setInterval(() => {
    if (document.visibilityState === 'visible') drawAll(view)
  }, drawIntervalMs)
  drawAll(view)
  return {
    draw: () => drawAll(view),
    focus: () => findFirst(panel)?.focus(),
    close: () => {
      const isFocused = document.activeElement === host
      over.abort()
      clearInterval(timer)
      mover.close()
      host.remove()
      if (isFocused && focused instanceof HTMLElement) focused.focus()
    },
  }
}

/** Returns the list of slots, or what closes the console where there is none. */
function findFirst(panel: HTMLElement): HTMLElement | null {
  return panel.querySelector<HTMLElement>('[role=listbox]') ?? panel.querySelector<HTMLElement>('[data-action=close]')
}

function isCollapsed({ collapsed, isAside, isChip }: OpenView): boolean {
  return collapsed ?? (isAside || isChip)
}

function findSelected({ selected_key }: OpenView, slots: readonly Slot[]): Slot | null {
  return slots.find(({ key }) => key === selected_key) ?? slots.at(-1) ?? null
}

function drawAll(view: OpenView): void {
  const { options, panel, mover, news, copied } = view
  const state = options.read()
  const { slots } = state
  const selected = findSelected(view, slots)
  drawOutlines(view, slots)
  const said = describeSaid(state.actions)
  const isUnderConsole = selected !== null && coveredShare(readBox(panel), selected) > 0
  const shown = { selected, isCollapsed: isCollapsed(view), copied, isUnderConsole, news: news.read(slots, said) }
  patchChildren(panel, drawPanel({ ...state, ...shown }))
  panel.toggleAttribute('data-collapsed', isCollapsed(view))
  // What the user has opened stays where it is.
  const findClickable = view.collapsed === null ? view.findClickable : () => 0
  mover.settle(listBoxes(slots), findClickable, view.isChip)
  // It makes room for an ad whose view it would prevent, until the ad is viewed.
  const open = mover.findOpenBox()
  view.isAside = slots.some((slot) => slot.ad?.isViewed === false && coveredShare(open, slot) > maxCoveredShare)
  showNew(view, selected?.key ?? null, said)
  // It stays one: a page that changes while it is used does not make the panel come and go.
  if (view.isChip || view.collapsed !== null || !options.hasPanel || findClickable(open) === 0) return
  view.isChip = true
  drawAll(view)
}

/** Scrolls to what has just been selected, or said about an action. */
function showNew(view: OpenView, key: string | null, said: string | null): void {
  const { panel } = view
  if (key !== view.shown_key) panel.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
  if (said !== view.said && said !== null) panel.querySelector('.said')?.scrollIntoView({ block: 'nearest' })
  view.shown_key = key
  view.said = said
}

/** Returns what the user has to know of the last action: what came of it, or the code to compare. */
function describeSaid({ grant, outcome }: PanelState['actions']): string | null {
  return grant.status === 'asked' ? `Confirm in the inspector: code ${grant.code}` : (outcome?.text ?? null)
}

function drawOutlines(view: OpenView, slots: readonly Slot[]): void {
  patchChildren(view.marks, drawMarks(slots, findSelected(view, slots)?.key ?? null))
}

function onClick(view: OpenView, event: Event): void {
  const [at] = event.composedPath()
  const button = at instanceof Element ? at.closest<HTMLElement>('[data-action]') : null
  if (button === null) return
  const { action = '', value = '' } = button.dataset
  findEntry(commands, action)?.(view, value)
  if (!view.over.signal.aborted) drawAll(view)
}

/** The picker of campaigns. */
function onChange(view: OpenView, { target }: Event): void {
  if (!(target instanceof HTMLSelectElement)) return
  const campaign_id = target.value === '' ? null : target.value
  void view.options.read().actions.run({ action: 'campaign', campaign_id })
  drawAll(view)
}

const commands: Readonly<Record<string, (view: OpenView, value: string) => void>> = {
  close: ({ options }) => options.onClose(),
  collapse: (view) => {
    view.collapsed = !isCollapsed(view)
  },
  select: (view, key) => {
    view.selected_key = key
    view.collapsed = false
  },
  copy: (view, kind) => void copySlot(view, kind),
  act: ({ options }, action) => void options.read().actions.run(JSON.parse(action)),
}

async function copySlot(view: OpenView, kind: string): Promise<void> {
  const { options, panel } = view
  const slot = findSelected(view, options.read().slots)
  if (slot === null) return
  await writeClipboard(options.copy(kind, slot), panel)
  view.copied = kind
  drawAll(view)
  setTimeout(() => {
    view.copied = null
  }, copiedMs)
}

/** Esc closes, from the console and from a page where nothing has the focus. Other keys count inside the panel alone. */
function onKey(view: OpenView, event: KeyboardEvent): void {
  const { panel, mover, options } = view
  const path = event.composedPath()
  const [at] = path
  const isInside = path.includes(panel)
  const isFree = document.activeElement === null || document.activeElement === document.body
  if (event.key === 'Escape' && !event.defaultPrevented && (isInside || isFree)) {
    options.onClose()
    return
  }
  if (!isInside || !(at instanceof HTMLElement)) return
  const isList = at.getAttribute('role') === 'listbox'
  const isHandled = at.dataset.action === 'move' ? mover.moveByKey(event) : isList && selectByKey(view, event.key)
  if (!isHandled) return
  event.preventDefault()
  drawAll(view)
}

function selectByKey(view: OpenView, key: string): boolean {
  const { slots } = view.options.read()
  const selected = findSelected(view, slots)
  const at = selected === null ? 0 : slots.indexOf(selected)
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: slots.length - 1 }[key]
  const slot = next === undefined ? undefined : slots[Math.max(0, Math.min(next, slots.length - 1))]
  if (slot === undefined) return false
  view.selected_key = slot.key
  findPlace(slot)?.scrollIntoView({ block: 'nearest' })
  return true
}

function buildHost(): { host: HTMLElement; marks: HTMLElement; panel: HTMLElement } {
  const host = document.createElement('svc-console')
  // Rules of the page for any element would win over those of the shadow root.
  for (const [name, value] of Object.entries({ all: 'initial', position: 'fixed', width: '0', height: '0' })) {
    host.style.setProperty(name, value, 'important')
  }
  host.style.setProperty('z-index', '2147483647', 'important')
  const root = host.attachShadow({ mode: 'open' })
  root.adoptedStyleSheets = makeSheets()
  const marks = document.createElement('div')
  marks.className = 'marks'
  marks.setAttribute('aria-hidden', 'true')
  const panel = document.createElement('section')
  panel.className = 'panel'
  panel.setAttribute('role', 'dialog')
  panel.setAttribute('aria-label', 'Placement console')
  root.append(marks, panel)
  // Beside the body, which some pages replace.
  document.documentElement.append(host)
  return { host, marks, panel }
}

function listBoxes(slots: readonly Slot[]): Box[] {
  return slots.flatMap((slot) => {
    const place = findPlace(slot)
    return (place && findVisibleBox(place)) ?? []
  })
}

/** Returns the share of an ad's part in view that a box lies over. */
function coveredShare(box: Box, slot: Slot): number {
  const place = slot.ad?.element && findVisibleBox(slot.ad.element)
  return place ? sharedArea(box, place) / Math.max(1, sharedArea(place, place)) : 0
}

/** Says what has changed since it was last read, one sentence: a live region that repeats everything is turned off. */
interface News {
  read(slots: readonly Slot[], said: string | null): string
}

function openNews(): News {
  const known = new Map<string, string>()
  let text = ''
  let last: string | null = null
  return {
    read: (slots, said) => {
      if (said !== null && said !== last) text = said
      last = said
      for (const slot of slots) {
        const { chip, reason } = describeState(slot)
        const state = [chip, reason].filter(Boolean).join(', ')
        if (known.get(slot.key) === state) continue
        known.set(slot.key, state)
        text = `${slot.name}: ${state}`
      }
      return text
    },
  }
}

/** Pages without https have no clipboard of their own: there a selected text is copied. */
async function writeClipboard(text: string, parent: HTMLElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    parent.append(area)
    area.select()
    document.execCommand('copy')
    area.remove()
  }
}
