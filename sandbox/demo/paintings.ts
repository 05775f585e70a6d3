/** Pictures painted on this page: three styles, each endless, each the same for the same seed. The canvas is 100 wide. */
import { seeded } from './motion.ts'

export const styles = ['ridges', 'city', 'botanical'] as const
export type Style = (typeof styles)[number]

type Random = () => number
type Context = CanvasRenderingContext2D

/** Paints a square of `size` pixels: variations of a prompt share its colours. */
export function paint(style: Style, prompt: string, variation: number, size: number): HTMLCanvasElement {
  const canvas = Object.assign(document.createElement('canvas'), { width: size, height: size })
  const context = canvas.getContext('2d')
  context?.scale(size / 100, size / 100)
  if (context) painters[style](context, seeded(`${variation} ${prompt}`), seeded(prompt))
  return canvas
}

const painters: Record<Style, (context: Context, random: Random, colours: Random) => void> = { ridges, city, botanical }

/** A low sun over ridges that fade into the haze, and water in front. */
function ridges(context: Context, random: Random, colours: Random): void {
  const hue = (random() - 0.5) * 16 + pick(colours, [18, 205, 265, 340])
  const sky = context.createLinearGradient(0, 0, 0, 72)
  const top = hue < 60 ? hue - 64 : hue + 20
  fill(context, stops(sky, `hsl(${top} 45% 38%)`, `hsl(${hue} 65% 66%)`, `hsl(${hue - 12} 85% 84%)`), 0, 0, 100, 100)

  const sun = { x: 25 + random() * 50, y: 32 + random() * 14, r: 5 + random() * 4 }
  const glow = context.createRadialGradient(sun.x, sun.y, sun.r * 0.6, sun.x, sun.y, sun.r * 6)
  glow.addColorStop(0.2, `hsl(${hue + 10} 100% 88% / .45)`)
  fill(context, stops(glow, 'hsl(45 100% 94% / .95)', `hsl(${hue} 100% 80% / 0)`), 0, 0, 100, 100)

  const depth = 5
  for (let layer = 0; layer < depth; layer++) {
    const near = layer / (depth - 1)
    const waves = [0, 1, 2, 3].map((octave) => ({
      length: (0.05 + random() * 0.05) * 2 ** octave,
      height: (9 - near * 3) / 2 ** octave,
      shift: random() * 20,
    }))
    const height = (x: number) =>
      waves.reduce((sum, { length, height, shift }) => sum + Math.abs(Math.sin(x * length + shift)) * height, 0)
    const outline = Array.from({ length: 201 }, (_, i) => [i / 2, 54 + layer * 6.5 - height(i / 2)] as const)
    shape(context, `hsl(${hue + 8} ${28 + near * 14}% ${70 - near * 54}%)`, [[0, 100], ...outline, [100, 100]])
  }
  const water = context.createLinearGradient(0, 80, 0, 100)
  fill(context, stops(water, `hsl(${hue - 8} 60% 72% / .9)`, `hsl(${hue + 16} 45% 30%)`), 0, 81, 100, 19)
  for (let line = 0; line < 46; line++) {
    const y = 81.5 + random() ** 1.6 * 18
    const spread = 3 + (y - 80) * 1.6
    const light = `hsl(45 100% 92% / ${0.1 + random() * 0.32})`
    fill(context, light, sun.x - spread / 2 + (random() - 0.5) * spread, y, 1 + random() * spread * 0.6, 0.35)
  }
}

/** A city at night, cut out of paper: layers with a soft shadow, some windows lit. */
function city(context: Context, random: Random, colours: Random): void {
  const hue = (random() - 0.5) * 24 + pick(colours, [222, 250, 190, 322])
  const sky = context.createLinearGradient(0, 0, 0, 100)
  fill(context, stops(sky, `hsl(${hue} 48% 13%)`, `hsl(${hue + 40} 55% 46%)`), 0, 0, 100, 100)
  for (let star = 0; star < 70; star++) {
    disc(context, `hsl(50 80% 92% / ${random() * 0.8})`, random() * 100, random() * 55, 0.15 + random() * 0.3)
  }
  const moon = { x: 18 + random() * 62, y: 16 + random() * 12 }
  disc(context, 'hsl(46 90% 88%)', moon.x, moon.y, 6.5)
  disc(context, `hsl(${hue} 48% 16%)`, moon.x + 2.6, moon.y - 1.6, 5.6)

  Object.assign(context, { shadowBlur: 8, shadowOffsetY: -1 })
  for (let layer = 0; layer < 4; layer++) {
    const paper = `hsl(${hue + 24 - layer * 8} 42% ${40 - layer * 9.5}%)`
    let x = -4 - random() * 6
    while (x < 104) {
      const width = 6 + random() * 9
      const top = 38 + layer * 12 + random() * 16
      context.shadowColor = 'rgb(0 0 0 / .45)'
      fill(context, paper, x, top, width, 100 - top)
      const roof = random()
      const gable = [
        [x, top + 0.1],
        [x + width / 2, top - width * 0.6],
        [x + width, top + 0.1],
      ] as const
      if (roof > 0.72) shape(context, paper, gable)
      else if (roof < 0.16) fill(context, paper, x + width / 2 - 0.3, top - 7, 0.6, 7)
      context.shadowColor = 'transparent'
      for (let y = top + 2; y < 98; y += 3) {
        for (let column = x + 1.3; column < x + width - 1.6; column += 2.3) {
          if (random() > 0.3 + layer * 0.04) continue
          const light = `hsl(${38 + random() * 14} 95% ${62 + random() * 18}% / ${0.5 + random() * 0.5})`
          fill(context, light, column, y, 1.1, 1.5)
        }
      }
      x += width + random() * 1.5
    }
  }
}

/** A pressed plant on laid paper. */
function botanical(context: Context, random: Random): void {
  const hue = pick(random, [96, 142, 168, 64])
  fill(context, `hsl(${40 + random() * 8} 42% 92%)`, 0, 0, 100, 100)
  for (let grain = 0; grain < 900; grain++) {
    const speck = `hsl(35 30% ${random() > 0.5 ? 99 : 66}% / ${random() * 0.12})`
    fill(context, speck, random() * 100, random() * 100, 0.3 + random(), 0.25)
  }
  const blossom = pick(random, [350, 28, 210, 282])
  const stems = 3 + Math.floor(random() * 2)
  context.lineCap = 'round'
  for (let stem = 0; stem < stems; stem++) {
    const side = stem - (stems - 1) / 2
    const lean = side * 0.34 + (random() - 0.5) * 0.12
    const length = 52 + random() * 22
    let [x, y, angle] = [50 + side * 2, 93, -Math.PI / 2 + lean * 0.35]
    const steps = 22
    for (let step = 0; step < steps; step++) {
      const [from_x, from_y] = [x, y]
      x += (Math.cos(angle) * length) / steps
      y += (Math.sin(angle) * length) / steps
      stroke(context, `hsl(${hue} 34% 28%)`, 1.1 - (step / steps) * 0.75, from_x, from_y, x, y)
      if (step > 3 && step % 2 === 0) {
        const turn = (step % 4 === 0 ? 1 : -1) * (0.7 + random() * 0.4)
        at(context, x, y, angle + turn, () => leaf(context, 11 - (step / steps) * 6, hue, random))
      }
      angle += lean * 0.05 + (random() - 0.5) * 0.07
    }
    bloom(context, x, y, 4.5 + random() * 2.5, blossom, random)
  }
}

function leaf(context: Context, length: number, hue: number, random: Random): void {
  context.fillStyle = `hsl(${hue + random() * 18} ${30 + random() * 16}% ${34 + random() * 16}% / .9)`
  context.beginPath()
  context.moveTo(0, 0)
  context.quadraticCurveTo(length * 0.5, -length * 0.34, length, 0)
  context.quadraticCurveTo(length * 0.5, length * 0.34, 0, 0)
  context.fill()
  stroke(context, 'hsl(60 40% 92% / .5)', 0.2, 0, 0, length * 0.9, 0)
}

function bloom(context: Context, x: number, y: number, radius: number, hue: number, random: Random): void {
  const petals = 7 + Math.floor(random() * 5)
  for (let petal = 0; petal < petals; petal++) {
    at(context, x, y, (petal / petals) * Math.PI * 2 + random() * 0.2, () => {
      context.fillStyle = `hsl(${hue + random() * 20} ${52 + random() * 18}% ${56 + random() * 14}% / .78)`
      context.beginPath()
      context.ellipse(radius * 0.62, 0, radius * 0.66, radius * 0.26, 0, 0, Math.PI * 2)
      context.fill()
    })
  }
  disc(context, `hsl(${hue + 30} 70% 34%)`, x, y, radius * 0.24)
}

/** Draws with the origin moved and turned. */
function at(context: Context, x: number, y: number, angle: number, draw: () => void): void {
  context.save()
  context.translate(x, y)
  context.rotate(angle)
  draw()
  context.restore()
}

/** Spreads colours evenly; three have their middle at 0.6. */
function stops(gradient: CanvasGradient, ...colours: string[]): CanvasGradient {
  const places = colours.length === 3 ? [0, 0.6, 1] : [0, 1]
  for (const [i, colour] of colours.entries()) gradient.addColorStop(places[i] ?? 1, colour)
  return gradient
}

function fill(context: Context, style: string | CanvasGradient, x: number, y: number, w: number, h: number): void {
  context.fillStyle = style
  context.fillRect(x, y, w, h)
}

function shape(context: Context, style: string, points: readonly (readonly [number, number])[]): void {
  context.fillStyle = style
  context.beginPath()
  for (const [x, y] of points) context.lineTo(x, y)
  context.fill()
}

function stroke(context: Context, style: string, width: number, x1: number, y1: number, x2: number, y2: number): void {
  Object.assign(context, { strokeStyle: style, lineWidth: width })
  context.beginPath()
  context.moveTo(x1, y1)
  context.lineTo(x2, y2)
  context.stroke()
}

function disc(context: Context, style: string, x: number, y: number, radius: number): void {
  context.fillStyle = style
  context.beginPath()
  context.arc(x, y, radius, 0, Math.PI * 2)
  context.fill()
}

function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[Math.floor(random() * items.length)] as Item
}
