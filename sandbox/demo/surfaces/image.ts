/** An image generator: four pictures that come into focus, painted on this page. The slot stands beside the gallery. */
import { el } from '../elements.ts'
import { isCalm, pause } from '../pace.ts'
import { createSlot } from '../slot.ts'
import { type Manner, paint } from './paintings.ts'
import type { Prompt, Surface, SurfaceKind } from './surface.ts'

const prompts: readonly (Prompt & { manner: Manner })[] = [
  {
    label: 'Ridges at first light',
    text: 'Mountain ridges at first light over still water, soft haze',
    topic: 'photography',
    manner: 'ridges',
  },
  {
    label: 'Paper city at night',
    text: 'A city at night cut out of layered paper, lit windows',
    topic: 'design',
    manner: 'city',
  },
  {
    label: 'Pressed wild flowers',
    text: 'Pressed wild flowers on old paper, botanical plate',
    topic: 'houseplants',
    manner: 'botanical',
  },
]

export const image: SurfaceKind = {
  job_type: 'image',
  icon: 'image',
  name: 'Image',
  product: 'Ochrelle',
  tagline: 'Pictures from a sentence',
  placeholder: 'Describe a picture',
  ask: 'Generate',
  prompts,
  slot: { position: 'sidebar', timing: 'during', max_height: 460, share: 0.8 },
  template: { narrow: 'list_item', wide: 'card' },
  open,
}

const picture_px = 512
const pictures = 4
const passes = 14

interface Tile {
  element: HTMLElement
  canvas: HTMLCanvasElement
  final: HTMLCanvasElement
}

function open(window: HTMLElement): Surface {
  const slot = createSlot('image')
  const caption = el('p', { class: 'caption' })
  const progress = el('progress', { max: 100, value: 0, 'aria-label': 'Progress' })
  const grid = el('div', { class: 'pictures' })
  const strip = el('ul', { class: 'strip', 'aria-label': 'Earlier pictures' })
  const gallery = el('div', { class: 'gallery' }, el('div', { class: 'caption-row' }, caption, progress), grid, strip)
  const studio = el('div', { class: 'studio' }, gallery, slot.element)
  window.append(el('div', { class: 'image scroller', tabindex: 0, role: 'region', 'aria-label': 'Gallery' }, studio))
  let takes = 0
  let tiles: Tile[] = []

  function keepEarlier(): void {
    for (const { final } of tiles) {
      const thumbnail = el('canvas', { width: 96, height: 96, role: 'img', 'aria-label': caption.textContent })
      thumbnail.getContext('2d')?.drawImage(final, 0, 0, 96, 96)
      strip.prepend(el('li', {}, thumbnail))
    }
    while (strip.childElementCount > 12) strip.lastElementChild?.remove()
  }

  return {
    begin(prompt, isAgain) {
      if (!isAgain) keepEarlier()
      takes += 1
      const manner = prompts.find(({ text }) => text === prompt.text)?.manner ?? mannerOf(prompt.text)
      caption.textContent = prompt.text
      tiles = Array.from({ length: pictures }, (_, index) => {
        const canvas = el('canvas', { width: picture_px, height: picture_px, role: 'img' })
        canvas.setAttribute('aria-label', `${prompt.text}, picture ${index + 1}`)
        const final = el('canvas')
        paint(final, manner, `${takes} ${prompt.text}`, index, picture_px)
        return { canvas, final, element: el('div', { class: 'tile', 'aria-busy': 'true' }, canvas) }
      })
      grid.replaceChildren(...tiles.map(({ element }) => element))
      progress.value = 0
      progress.hidden = false
      for (const tile of tiles) focus(tile, 0)
      return {
        slot,
        async answer(signal) {
          for (let pass = 0; pass <= passes + pictures; pass++) {
            for (const [index, tile] of tiles.entries()) {
              focus(tile, isCalm.matches ? 1 : Math.min(1, Math.max(0, (pass - index) / passes)))
            }
            progress.value = (100 * pass) / (passes + pictures)
            await pause(190, signal)
          }
          progress.hidden = true
          return `${pictures} pictures of ${prompt.text}`
        },
      }
    },
  }
}

/** From coarse and grainy at 0 to the finished picture at 1. */
function focus({ element, canvas, final }: Tile, share: number): void {
  const context = canvas.getContext('2d')
  if (context === null) return
  if (share >= 1) {
    context.drawImage(final, 0, 0, picture_px, picture_px)
    element.removeAttribute('aria-busy')
    return
  }
  const cells = Math.max(4, Math.round(4 * 2 ** (share * 6)))
  const coarse = el('canvas', { width: cells, height: cells })
  coarse.getContext('2d')?.drawImage(final, 0, 0, cells, cells)
  context.imageSmoothingEnabled = true
  context.imageSmoothingQuality = 'high'
  context.drawImage(coarse, 0, 0, picture_px, picture_px)
}

function mannerOf(text: string): Manner {
  const manners: Manner[] = ['ridges', 'city', 'botanical']
  return manners[text.length % manners.length] as Manner
}
