/** Where an element is, also when it is turned, tilted or scaled with what is around it. */
import { flatParent } from '../dom.ts'
import type { BoxPoint } from './gradient.ts'

export interface Box {
  /** Its centre in the viewport, CSS pixels. */
  centre: readonly [x: number, y: number]
  /** Its own size, before any transform. */
  width: number
  height: number
  /** Where a step to the right and one down in it lead: right x, right y, down x, down y. */
  axes: readonly [number, number, number, number]
  isTurned: boolean
}

/** The centre of a parallelogram is the centre of its bounding box, so no origin of a transform is needed. */
export function findBox(element: Element): Box {
  const { left, top, width, height } = element.getBoundingClientRect()
  const [a, b, c, d] = findAxes(element)
  const isTurned = Math.abs(b) + Math.abs(c) > 1e-3
  const own = element as Partial<HTMLElement>
  const centre = [left + width / 2, top + height / 2] as const
  if (!isTurned || !own.offsetWidth || !own.offsetHeight) {
    const [w, h] = [own.offsetWidth || width, own.offsetHeight || height]
    return { centre, width: w, height: h, axes: [width / w || 1, 0, 0, height / h || 1], isTurned: false }
  }
  const [w, h] = [own.offsetWidth, own.offsetHeight]
  // What is left is zoom, and the perspective.
  const wide = width / (Math.abs(a) * w + Math.abs(c) * h) || 1
  const high = height / (Math.abs(b) * w + Math.abs(d) * h) || 1
  return { centre, width: w, height: h, axes: [a * wide, b * high, c * wide, d * high], isTurned }
}

function findAxes(element: Element): readonly [number, number, number, number] {
  let sum = new DOMMatrix()
  for (let at: Element | null = element; at; at = flatParent(at)) {
    const { transform, rotate, scale, transformStyle } = getComputedStyle(at)
    const own = [rotate, scale, transform].map(readTransform).reduce((one, other) => one.multiply(other))
    sum = own.multiply(transformStyle === 'preserve-3d' ? sum : flatten(sum))
  }
  return [sum.m11, sum.m12, sum.m21, sum.m22]
}

const flatten = ({ m11, m12, m21, m22 }: DOMMatrix): DOMMatrix => new DOMMatrix([m11, m12, m21, m22, 0, 0])

/** Reads the computed value of `rotate`, `scale` or `transform`. */
function readTransform(value: string | undefined, index: number): DOMMatrix {
  if (!value || value === 'none') return new DOMMatrix()
  if (index === 2) return new DOMMatrix(value)
  const numbers = value.split(' ').map(Number.parseFloat)
  if (index === 1) return new DOMMatrix().scale(numbers[0], numbers[1] ?? numbers[0])
  const axis = { x: [1, 0, 0], y: [0, 1, 0], z: [0, 0, 1] }[value[0] as 'x']
  const angle = numbers.at(-1)!
  const [x, y, z] = axis ?? (numbers.length === 4 ? numbers : [0, 0, 1])
  return new DOMMatrix().rotateAxisAngle(x, y, z, angle)
}

/** Returns the point of the viewport at a share of a box's width and height. */
export function pointIn({ centre, width, height, axes: [a, b, c, d] }: Box, right: number, down: number) {
  const [x, y] = [(right - 0.5) * width, (down - 0.5) * height]
  return [centre[0] + a * x + c * y, centre[1] + b * x + d * y] as const
}

/** Returns a point of the viewport as one of the box. Null for a box that is seen from its edge. */
export function locate(
  { centre, width, height, axes: [a, b, c, d] }: Box,
  [x, y]: readonly [number, number],
): BoxPoint | null {
  const area = a * d - b * c
  if (Math.abs(area) < 1e-6) return null
  const [right, down] = [x - centre[0], y - centre[1]]
  return {
    x: (d * right - c * down) / area + width / 2,
    y: (a * down - b * right) / area + height / 2,
    width,
    height,
  }
}

export function isInside({ x, y, width, height }: BoxPoint, margin = 0): boolean {
  return x >= -margin && y >= -margin && x <= width + margin && y <= height + margin
}
