/**
 * Random pages, judged by a picture: transforms, covers, colours, scrolling, clipping, masks and opacities composed at random around an
 * ad. A pixel of the ad shows when it changes as the ad is painted in another colour. `node bench/sight.ts --seed 7 --pages 100`
 *
 * Exits with 1 when an ad is taken for seen of which less than 45 % shows, or when more than 2 % of the ads that the picture shows are
 * not: an ad that cannot be measured is not seen either.
 */
import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import { PNG } from 'pngjs'
import { launchChromium } from '#tests/browser/chromium.ts'
import { judgeLayouts } from '#tests/browser/sight-page.ts'

const { values } = parseArgs({ options: { seed: { type: 'string' }, pages: { type: 'string' } } })
const pages = Number(values.pages ?? 100)
const seed = Number(values.seed ?? 1)

/** Much blur is left out: it changes every pixel, and nothing can be read. A pixel surely shows when half of its contrast is left, and surely does not when less than a quarter is. */
const strong = 128
const faint = 64
const viewport = { width: 900, height: 700 }

/** Mulberry32. */
function openDice(seed: number) {
  let state = seed
  const roll = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (least: number, most: number): number => Math.round((least + roll() * (most - least)) * 100) / 100
  return {
    between,
    isIn: (share: number): boolean => roll() < share,
    pick: <T>(list: readonly T[]): T => list[Math.floor(roll() * list.length)]!,
  }
}

type Dice = ReturnType<typeof openDice>

function color({ pick, between }: Dice): string {
  const alpha = pick([1, 1, 0, 0.1, 0.3, between(0, 1)])
  return pick([
    `rgba(${pick([0, 20, 250])}, ${pick([0, 200])}, 0, ${alpha})`,
    `rgb(0 0 0 / ${alpha})`,
    `oklch(0.6 0.1 ${between(0, 360)} / ${alpha})`,
    `hsl(${between(0, 360)} 60% 50% / ${alpha * 100}%)`,
    ...(alpha === 1 ? ['#000', 'white', 'rgb(0, 0, 0)', 'navy'] : []),
  ])
}

function cover(dice: Dice): string {
  const { between, pick, isIn } = dice
  const place = pick([
    'position:fixed;inset:0',
    'position:absolute;inset:0',
    `position:absolute;left:${between(-80, 250)}px;top:${between(-80, 250)}px;width:${between(20, 400)}px;height:${between(20, 400)}px`,
  ])
  const paint = pick([
    `background:${color(dice)}`,
    `background:${color(dice)}`,
    `background:linear-gradient(${pick(['to right', '30deg', 'to bottom'])},${color(dice)},${color(dice)} ${between(20, 90)}%)`,
    `border:${between(1, 160)}px solid ${color(dice)}`,
    `box-shadow:0 0 0 ${between(1, 400)}px ${color(dice)}`,
    `box-shadow:inset 0 0 0 ${between(1, 200)}px ${color(dice)}`,
    `outline:${between(1, 200)}px solid ${color(dice)}`,
    `backdrop-filter:${pick(['blur(0px)', 'brightness(.2)', 'brightness(.8)'])}`,
    'background:none',
  ])
  const more = [
    isIn(0.4) ? 'pointer-events:none' : '',
    isIn(0.2) ? `opacity:${between(0, 1)}` : '',
    isIn(0.2) ? `border-radius:${pick(['8px', '50%'])}` : '',
    isIn(0.2) ? 'z-index:-1' : 'z-index:3',
    isIn(0.15) ? `transform:rotate(${between(-30, 30)}deg)` : '',
    isIn(0.1) ? 'visibility:hidden' : '',
  ]
  return `<div style="box-sizing:border-box;${place};${paint};${more.filter(Boolean).join(';')}"></div>`
}

interface Layout {
  html: string
  /** How much larger than 300 x 250 the area of the ad is painted. */
  scale: number
}

function layout(dice: Dice): Layout {
  const { between, pick, isIn } = dice
  const covers = Array.from({ length: pick([0, 0, 1, 1, 2, 3]) }, () => cover(dice)).join('')
  let html = `<div style="position:relative;isolation:isolate;width:300px"><div class="slot"></div>${covers}</div>`
  let scale = 1
  const wrap = (share: number, style: () => string): void => {
    if (isIn(share)) html = `<div style="${style()}">${html}</div>`
  }
  wrap(
    0.3,
    () =>
      `transform:${pick([`rotate(${between(-40, 40)}deg)`, `skew(${between(-15, 15)}deg)`, `translate(${between(0, 200)}px,${between(0, 100)}px)`])};width:300px`,
  )
  wrap(0.2, () => {
    const factor = between(0.5, 1.3)
    scale *= factor ** 2
    return `transform:scale(${factor});width:300px`
  })
  wrap(0.3, () => `opacity:${between(0, 1)}`)
  wrap(
    0.15,
    () => `filter:${pick(['blur(1px)', 'brightness(.2)', 'grayscale(1)', 'invert(1)', 'opacity(.3)', 'contrast(.2)'])}`,
  )
  wrap(
    0.15,
    () =>
      `clip-path:${pick([`inset(${between(0, 60)}% 0 0 0)`, `inset(0 ${between(0, 80)}% 0 0)`, 'circle(40%)', 'polygon(0 0,100% 0,0 100%)'])};width:300px`,
  )
  wrap(0.1, () => {
    const mask = `linear-gradient(${pick(['to right', 'to bottom', '45deg'])},#000 ${between(0, 60)}%,transparent ${between(60, 100)}%)`
    return `mask-image:${mask};-webkit-mask-image:${mask};width:300px`
  })
  wrap(0.15, () => `overflow:hidden;height:${between(40, 300)}px;width:${between(80, 320)}px`)
  wrap(0.15, () => `position:absolute;left:${between(-200, 800)}px;top:${between(-100, 600)}px`)
  return { html: `<div style="padding:60px">${html}</div>`, scale }
}

/** Returns the shares of the ad's pixels that surely show, and that show at all. */
async function takePictures(page: Page, scale: number): Promise<{ strong: number; faint: number }> {
  const paint = async (ground: string): Promise<PNG> => {
    await page.evaluate((ground) => {
      const { shadowRoot } = document.querySelector('[data-sp-placement]')!
      shadowRoot!.querySelector('iframe')!.style.setProperty('background', ground)
    }, ground)
    return PNG.sync.read(await page.screenshot())
  }
  const [one, other] = [await paint('#fff'), await paint('#000')]
  let counts = { strong: 0, faint: 0 }
  for (let at = 0; at < one.data.length; at += 4) {
    const change = Math.max(...[0, 1, 2].map((part) => Math.abs(one.data[at + part]! - other.data[at + part]!)))
    counts = { strong: counts.strong + Number(change >= strong), faint: counts.faint + Number(change >= faint) }
  }
  const area = 300 * 250 * scale
  return { strong: counts.strong / area, faint: counts.faint / area }
}

const browser = await launchChromium()
const page = await browser.newPage({ viewport })
const wrong: string[] = []
const totals = { seen: 0, not_seen: 0, unmeasured: 0, shown: 0, lost: 0, label: 0, false: 0 }
for (let index = 0; index < pages; index += 1) {
  const { html, scale } = layout(openDice(seed * 10_000 + index))
  const [judgements] = await judgeLayouts(page, [{ what: '', html, is: 'seen' }])
  const found = judgements!.observed
  const picture = await takePictures(page, scale)
  const line = `${seed * 10_000 + index}: ${found.outcome} ${found.reason}, ${Math.round(picture.strong * 100)} to ${Math.round(picture.faint * 100)} % shows\n  ${html}`
  totals[found.outcome] += 1
  if (picture.strong >= 0.5) totals.shown += 1
  // A covered label costs the view, whatever shows of the ad.
  if (found.reason.startsWith('label_')) totals.label += Number(picture.strong >= 0.5)
  else if (picture.strong >= 0.55 && found.outcome !== 'seen') {
    totals.lost += 1
    wrong.push(`lost: ${line}`)
  }
  if (found.outcome === 'seen' && picture.faint < 0.45) {
    totals.false += 1
    wrong.push(`false: ${line}`)
  }
}
await browser.close()
console.log(wrong.join('\n'))
console.log(
  `${pages} pages, seed ${seed}: ${totals.seen} seen, ${totals.not_seen} not seen, ${totals.unmeasured} unmeasured. By the picture ${totals.shown} show; ${totals.lost} of them were lost, ${totals.label} more by their label; ${totals.false} were taken for seen and are not.`,
)
process.exitCode = totals.false > 0 || totals.lost > totals.shown * 0.02 ? 1 : 0
