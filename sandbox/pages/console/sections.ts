/** A section of the panel, and the chips in it. */
import { type Branch, draw } from './tree.ts'
import type { Tone } from './words.ts'

export function drawChip(tone: Tone, text: string): Branch {
  return draw('span', { class: 'chip', 'data-tone': tone }, text)
}

export function drawSection(
  name: string,
  remark: Branch | string | null,
  ...children: readonly (Branch | false | null)[]
): Branch {
  const key = name.toLowerCase().replaceAll(' ', '-')
  return draw(
    'section',
    { 'data-key': key, class: `section ${key}` },
    draw('header', { class: 'bar spread' }, draw('h3', {}, name), remark),
    ...children,
  )
}
