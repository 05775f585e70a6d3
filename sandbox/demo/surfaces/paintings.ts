/** Pictures that are painted here: three manners, each endless, each the same for the same seed. Sizes in pixels. */
import { seeded } from '../pace.ts'

export type Manner = 'ridges' | 'city' | 'botanical'

type Random = () => number

/** Paints a square of `size` pixels: variations of a prompt share its colours. */
export function paint(
  canvas: HTMLCanvasElement,
  manner: Manner,
  prompt: string,
  variation: number,
  size: number,
): void {
  canvas.width = size
  canvas.height = size
  const context = canvas.getContext('2d')
  if (context === null) return
  const colours = seeded(prompt)
  const random = seeded(`${variation} ${prompt}`)
  context.save()
  context.scale(size / 100, size / 100)
  manners[manner](context, random, colours)
  context.restore()
}

const manners: Record<Manner, (context: CanvasRenderingContext2D, random: Random, colours: Random) => void> = {
  ridges,
  city,
  botanical,
}

/** A low sun over ridges that fade into the haze, and water before them. */
function ridges(context: CanvasRenderingContext2D, random: Random, colours: Random): void {
  const hue = (random() - 0.5) * 16 + pick(colours, [18, 205, 265, 340])
  const sky = context.createLinearGradient(0, 0, 0, 72)
  sky.addColorStop(0, `hsl(${hue < 60 ? hue - 64 : hue + 20} 45% 38%)`)
  sky.addColorStop(0.6, `hsl(${hue} 65% 66%)`)
  sky.addColorStop(1, `hsl(${hue - 12} 85% 84%)`)
  context.fillStyle = sky
  context.fillRect(0, 0, 100, 100)

  const sun = { x: 25 + random() * 50, y: 32 + random() * 14, r: 5 + random() * 4 }
  const glow = context.createRadialGradient(sun.x, sun.y, sun.r * 0.6, sun.x, sun.y, sun.r * 6)
  glow.addColorStop(0, 'hsl(45 100% 94% / .95)')
  glow.addColorStop(0.2, `hsl(${hue + 10} 100% 88% / .45)`)
  glow.addColorStop(1, `hsl(${hue} 100% 80% / 0)`)
  context.fillStyle = glow
  context.fillRect(0, 0, 100, 100)

  const depth = 5
  for (let layer = 0; layer < depth; layer++) {
    const near = layer / (depth - 1)
    const base = 46 + layer * 6.5
    const waves = Array.from({ length: 4 }, (_, octave) => ({
      length: (0.05 + random() * 0.05) * 2 ** octave,
      height: (9 - near * 3) / 2 ** octave,
      shift: random() * 20,
    }))
    context.fillStyle = `hsl(${hue + 8} ${28 + near * 14}% ${70 - near * 54}%)`
    context.beginPath()
    context.moveTo(0, 100)
    for (let x = 0; x <= 100; x += 0.5) {
      const y = waves.reduce((sum, wave) => sum + Math.abs(Math.sin(x * wave.length + wave.shift)) * wave.height, 0)
      context.lineTo(x, base + 8 - y)
    }
    context.lineTo(100, 100)
    context.fill()
  }
  const water = context.createLinearGradient(0, 80, 0, 100)
  water.addColorStop(0, `hsl(${hue - 8} 60% 72% / .9)`)
  water.addColorStop(1, `hsl(${hue + 16} 45% 30%)`)
  context.fillStyle = water
  context.fillRect(0, 81, 100, 19)
  for (let line = 0; line < 46; line++) {
    const y = 81.5 + random() ** 1.6 * 18
    const spread = 3 + (y - 80) * 1.6
    context.fillStyle = `hsl(45 100% 92% / ${0.1 + random() * 0.32})`
    context.fillRect(sun.x - spread / 2 + (random() - 0.5) * spread, y, 1 + random() * spread * 0.6, 0.35)
  }
}

/** A city at night, cut out of paper: layers with a soft shadow, some windows lit. */
function city(context: CanvasRenderingContext2D, random: Random, colours: Random): void {
  const hue = (random() - 0.5) * 24 + pick(colours, [222, 250, 190, 322])
  const sky = context.createLinearGradient(0, 0, 0, 100)
  sky.addColorStop(0, `hsl(${hue} 48% 13%)`)
  sky.addColorStop(1, `hsl(${hue + 40} 55% 46%)`)
  context.fillStyle = sky
  context.fillRect(0, 0, 100, 100)
  for (let star = 0; star < 70; star++) {
    context.fillStyle = `hsl(50 80% 92% / ${random() * 0.8})`
    disc(context, random() * 100, random() * 55, 0.15 + random() * 0.3)
  }
  context.fillStyle = 'hsl(46 90% 88%)'
  const moon = { x: 18 + random() * 62, y: 16 + random() * 12 }
  disc(context, moon.x, moon.y, 6.5)
  context.fillStyle = `hsl(${hue} 48% 16%)`
  disc(context, moon.x + 2.6, moon.y - 1.6, 5.6)

  for (let layer = 0; layer < 4; layer++) {
    const light = 40 - layer * 9.5
    context.shadowColor = 'rgb(0 0 0 / .45)'
    context.shadowBlur = 8
    context.shadowOffsetY = -1
    let x = -4 - random() * 6
    while (x < 104) {
      const width = 6 + random() * 9
      const top = 38 + layer * 12 + random() * 16
      context.fillStyle = `hsl(${hue + 24 - layer * 8} 42% ${light}%)`
      context.fillRect(x, top, width, 100 - top)
      const roof = random()
      if (roof > 0.72) {
        context.beginPath()
        context.moveTo(x, top + 0.1)
        context.lineTo(x + width / 2, top - width * 0.6)
        context.lineTo(x + width, top + 0.1)
        context.fill()
      } else if (roof < 0.16) context.fillRect(x + width / 2 - 0.3, top - 7, 0.6, 7)
      context.shadowColor = 'transparent'
      for (let y = top + 2; y < 98; y += 3) {
        for (let column = x + 1.3; column < x + width - 1.6; column += 2.3) {
          if (random() > 0.3 + layer * 0.04) continue
          context.fillStyle = `hsl(${38 + random() * 14} 95% ${62 + random() * 18}% / ${0.5 + random() * 0.5})`
          context.fillRect(column, y, 1.1, 1.5)
        }
      }
      context.shadowColor = 'rgb(0 0 0 / .45)'
      x += width + random() * 1.5
    }
  }
  context.shadowColor = 'transparent'
}

/** A pressed plant on laid paper. */
function botanical(context: CanvasRenderingContext2D, random: Random): void {
  const hue = pick(random, [96, 142, 168, 64])
  context.fillStyle = `hsl(${40 + random() * 8} 42% 92%)`
  context.fillRect(0, 0, 100, 100)
  for (let grain = 0; grain < 900; grain++) {
    context.fillStyle = `hsl(35 30% ${random() > 0.5 ? 99 : 66}% / ${random() * 0.12})`
    context.fillRect(random() * 100, random() * 100, 0.3 + random(), 0.25)
  }
  const blossom = pick(random, [350, 28, 210, 282])
  const stems = 3 + Math.floor(random() * 2)
  for (let stem = 0; stem < stems; stem++) {
    const lean = (stem - (stems - 1) / 2) * 0.34 + (random() - 0.5) * 0.12
    const length = 52 + random() * 22
    let x = 50 + (stem - (stems - 1) / 2) * 2
    let y = 93
    let angle = -Math.PI / 2 + lean * 0.35
    const steps = 22
    for (let step = 0; step < steps; step++) {
      const next = { x: x + (Math.cos(angle) * length) / steps, y: y + (Math.sin(angle) * length) / steps }
      context.strokeStyle = `hsl(${hue} 34% 28%)`
      context.lineWidth = 1.1 - (step / steps) * 0.75
      context.lineCap = 'round'
      context.beginPath()
      context.moveTo(x, y)
      context.lineTo(next.x, next.y)
      context.stroke()
      if (step > 3 && step % 2 === 0) {
        const side = step % 4 === 0 ? 1 : -1
        leaf(context, next.x, next.y, angle + side * (0.7 + random() * 0.4), 11 - (step / steps) * 6, hue, random)
      }
      x = next.x
      y = next.y
      angle += lean * 0.05 + (random() - 0.5) * 0.07
    }
    bloom(context, x, y, 4.5 + random() * 2.5, blossom, random)
  }
}

function leaf(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  angle: number,
  length: number,
  hue: number,
  random: Random,
): void {
  context.save()
  context.translate(x, y)
  context.rotate(angle)
  context.fillStyle = `hsl(${hue + random() * 18} ${30 + random() * 16}% ${34 + random() * 16}% / .9)`
  context.beginPath()
  context.moveTo(0, 0)
  context.quadraticCurveTo(length * 0.5, -length * 0.34, length, 0)
  context.quadraticCurveTo(length * 0.5, length * 0.34, 0, 0)
  context.fill()
  context.strokeStyle = 'hsl(60 40% 92% / .5)'
  context.lineWidth = 0.2
  context.beginPath()
  context.moveTo(0, 0)
  context.lineTo(length * 0.9, 0)
  context.stroke()
  context.restore()
}

function bloom(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  radius: number,
  hue: number,
  random: Random,
): void {
  const petals = 7 + Math.floor(random() * 5)
  for (let petal = 0; petal < petals; petal++) {
    context.save()
    context.translate(x, y)
    context.rotate((petal / petals) * Math.PI * 2 + random() * 0.2)
    context.fillStyle = `hsl(${hue + random() * 20} ${52 + random() * 18}% ${56 + random() * 14}% / .78)`
    context.beginPath()
    context.ellipse(radius * 0.62, 0, radius * 0.66, radius * 0.26, 0, 0, Math.PI * 2)
    context.fill()
    context.restore()
  }
  context.fillStyle = `hsl(${hue + 30} 70% 34%)`
  disc(context, x, y, radius * 0.24)
}

function disc(context: CanvasRenderingContext2D, x: number, y: number, radius: number): void {
  context.beginPath()
  context.arc(x, y, radius, 0, Math.PI * 2)
  context.fill()
}

function pick<Value>(random: Random, values: readonly Value[]): Value {
  return values[Math.floor(random() * values.length)] as Value
}
