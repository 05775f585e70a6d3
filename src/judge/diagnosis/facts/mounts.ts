/** The ads that were in a watched page, each with what was seen of it in all looks. */
import type { Frame } from 'playwright-core'
import type { PageLook } from './in-page.ts'

export interface Mount {
  slot_id: string
  /** Identifies the element: two elements of one slot are two mounts. */
  element: string
  /** Its largest size, CSS pixels. */
  width: number
  height: number
  /** The style that hid it the whole time, and the element with that style; null when it was displayed. */
  hidden_by: string | null
  /** The element around it that cuts off half of it or more; null when there is none. */
  clipped_by: string | null
  /** The element that lay over its middle when it was last looked at; null when none did. */
  covered_by: string | null
  /** The largest share of it that was in the window and not cut off, 0 to 1. */
  seen_share: number
  /** How long svc tried to bring it into view, milliseconds; with `is_headed`, how long something cut it off. */
  sought_ms: number
  /** The id of an element around it that another, empty element also had at the end; null when there was none. */
  shared_id: string | null
  /** Whether render.js has mounted it: no other frame shows anything. */
  is_drawn: boolean
  /** Identifies the element that it was mounted in. */
  target: string
  /** The text around it when it was last seen; null when there was none. */
  text: string | null
  /** When it was first and last seen in the page, milliseconds of one clock. */
  from_ms: number
  until_ms: number
  /** The largest number of frames of this placement that were in the page at once. */
  copies: number
  /** Other placements that were in view in the same element at the same time. */
  rivals: readonly string[]
  /** How long at least half of it was in the window, milliseconds. */
  in_view_ms: number
  /** Visible text next to it that marks it as an ad; null when there was none. */
  label: string | null
  /** Distinct colours of its screenshot; 1: it is blank; null when there is none. */
  colors: number | null
}

/** A mount that may still be in the page, and the frame of the page that it is in. */
export type WatchedMount = Mount & { frame: Frame }

/** How long each ad is kept in the window: long enough for a clip to be viewable. */
const inViewMs = 3_000

/** The circumstances of a look at a document. */
interface Looking {
  key: (id: string) => string
  frame: Frame
  sought: string | null
  is_headed: boolean
  now: number
  passed_ms: number
}

/** Adds what one look at a document has seen. */
export function mergeLook(mounts: Map<string, WatchedMount>, { frames }: PageLook, looking: Looking): void {
  const { key, frame, sought, is_headed, now, passed_ms } = looking
  for (const look of frames) {
    const { src, width, height, hidden_by, clipped_by, covered_by, shared_id, seen_share, label, is_drawn, text } = look
    const element = key(look.element)
    const slot_id = slotInSrc(src)
    const earlier = mounts.get(element)
    const before = earlier ?? { ...unseen, from_ms: now }
    const isInView = isSeen(look)
    const others = frames.filter((other) => isInView && other.target === look.target && isSeen(other))
    const rivals = others.map((other) => slotInSrc(other.src)).filter((other) => other !== slot_id)
    const isSought = is_headed ? clipped_by !== null : sought === element
    mounts.set(element, {
      frame,
      slot_id,
      element,
      is_drawn,
      target: key(look.target),
      text,
      from_ms: before.from_ms,
      until_ms: now,
      copies: Math.max(frames.filter((other) => slotInSrc(other.src) === slot_id).length, before.copies),
      rivals: [...new Set([...before.rivals, ...rivals])],
      width: Math.max(width, before.width),
      height: Math.max(height, before.height),
      hidden_by: before.hidden_by === null ? null : hidden_by,
      clipped_by,
      covered_by,
      seen_share: Math.max(seen_share ?? 0, before.seen_share),
      sought_ms: before.sought_ms + (isSought ? passed_ms : 0),
      shared_id,
      in_view_ms: before.in_view_ms + (isInView && earlier !== undefined ? passed_ms : 0),
      label: label ?? before.label,
      colors: before.colors,
    })
  }
}

/** A mount before its first look. */
const unseen = {
  ...{ copies: 0, rivals: [], width: 0, height: 0, seen_share: 0, sought_ms: 0, in_view_ms: 0 },
  ...{ hidden_by: undefined, label: null, colors: null },
}

/** Returns the slot of the address of a frame, whose token begins with it; null for an address without one. */
export function findSlot(url: string): string | null {
  const [, id] = /\/ast_([0-9a-z]+)_/.exec(url) ?? []
  return id === undefined ? null : `slot_${id}`
}

const slotInSrc = (src: string) => findSlot(src) ?? 'slot_unknown'

const isSeen = ({ seen_share, hidden_by }: PageLook['frames'][number]) => (seen_share ?? 0) >= 0.5 && hidden_by === null

/**
 * Whether an ad is still in the page, can be seen, and was not in view long enough. An ad that stays cut off is given
 * up.
 */
export function needsView(
  { element, hidden_by, in_view_ms, seen_share, sought_ms }: Mount,
  present: readonly string[],
): boolean {
  const isHopeless = seen_share < 0.5 && sought_ms >= inViewMs
  return hidden_by === null && in_view_ms < inViewMs && !isHopeless && present.includes(element)
}
