/**
 * The outline and the chip of each slot. They stand around the ad and never over it: four lines outside its frame, so that nothing
 * covers it, neither for the pointer nor for the measurement.
 */
import { type Box, findVisibleBox, readBox, sharedArea } from './geometry.ts'
import { findPlace, type Slot } from './slots.ts'
import { type Branch, draw } from './tree.ts'
import { describeState, type Wording } from './words.ts'

/** Distance of the outline from the frame, CSS pixels: within the margin of the ad label. */
const gapPx = 2
const chipHeightPx = 20
/** Of a character of the chip, and of what is around its text. */
const characterPx = 6.7
const chipPaddingPx = 16
/** The chip of an empty slot stands on its line, mostly above it: below begins the next text. */
const aboveLinePx = 16
/** A lower box is an empty slot: a line. */
const minHeightPx = 4

/** Returns the marks of the slots that have a place in the viewport. Of several turns on one element, the newest is marked. */
export function drawMarks(slots: readonly Slot[], selected: string | null): Branch[] {
  const bySlot = new Map<Element, Slot>()
  for (const slot of slots) {
    const place = findPlace(slot)
    if (place === null) continue
    const target = slot.turn?.target ?? place
    bySlot.delete(target)
    bySlot.set(target, slot)
  }
  const marks = [...bySlot.values()].flatMap((slot) => {
    const place = findPlace(slot)
    const box = place && findVisibleBox(place)
    return box ? [{ slot, box }] : []
  })
  // What no chip may lie over: the ads with their labels, and other chips.
  const taken = marks.filter(({ box }) => isAd(box)).flatMap(({ slot, box }) => [box, findLabel(slot) ?? []].flat())
  return marks.map(({ slot, box }) => {
    const wording = describeState(slot)
    const chip = placeChip(box, findLabel(slot), measureChip(wording), taken)
    if (chip) taken.push(chip)
    return draw(
      'div',
      { class: 'mark', 'data-key': slot.key, 'data-tone': wording.tone, 'data-selected': slot.key === selected },
      ...drawOutline(box),
      chip && drawMarkChip(slot.key, wording, chip),
    )
  })
}

function drawOutline(box: Box): Branch[] {
  const gap = isAd(box) ? gapPx : 0
  const outline = {
    '--left': pixels(box.left - gap),
    '--top': pixels(box.top - gap),
    '--width': pixels(box.right - box.left + 2 * gap),
    '--height': pixels(box.bottom - box.top + 2 * gap),
  }
  const sides = isAd(box) ? ['north', 'east', 'south', 'west'] : ['north']
  return sides.map((side) => draw('i', { class: `line ${side}`, ...outline }))
}

function drawMarkChip(key: string, { chip, reason }: Wording, { left, top }: Box): Branch {
  return draw(
    'button',
    {
      type: 'button',
      class: 'mark-chip',
      tabindex: '-1',
      'data-action': 'select',
      'data-value': key,
      '--left': pixels(left),
      '--top': pixels(top),
    },
    draw('b', {}, chip),
    reason && draw('span', {}, reason),
  )
}

function measureChip({ chip, reason }: Wording): number {
  return (chip.length + (reason?.length ?? 0)) * characterPx + chipPaddingPx + (reason === null ? 0 : 6)
}

/**
 * Returns where the chip is: beside the label where there is room, else above it, else below the ad; on the line of an empty
 * slot. To the right of other chips. Null where it would lie over an ad.
 */
function placeChip(box: Box, label: Box | null, width: number, taken: readonly Box[]): Box | null {
  const left = Math.max(4, Math.min(box.left, innerWidth - width - 4))
  const places = isAd(box)
    ? [
        [Math.min(box.right, innerWidth) - width, box.top - 5 - chipHeightPx],
        [left, (label?.top ?? box.top) - 5 - chipHeightPx],
        [left, box.bottom + 5],
      ]
    : listPlacesOnLine(left, Math.max(0, box.top - aboveLinePx), taken)
  for (const [x = 0, y = 0] of places) {
    const chip = { left: x, top: y, right: x + width, bottom: y + chipHeightPx }
    const isInside = y >= 0 && chip.bottom <= innerHeight && x >= 0 && chip.right <= innerWidth
    if (isInside && !taken.some((other) => sharedArea(chip, other) > 0)) return chip
  }
  return null
}

/** The slots of a page that are all empty have their lines at the same place. */
function listPlacesOnLine(left: number, top: number, taken: readonly Box[]): number[][] {
  const others = taken.filter((other) => Math.abs(other.top - top) < chipHeightPx)
  return [[left, top], ...others.map(({ right }) => [right + 6, top])]
}

function isAd({ top, bottom }: Box): boolean {
  return bottom - top >= minHeightPx
}

function findLabel({ ad }: Slot): Box | null {
  const label = ad?.element?.previousElementSibling
  return label ? readBox(label) : null
}

function pixels(value: number): string {
  return `${Math.round(value * 100) / 100}px`
}
