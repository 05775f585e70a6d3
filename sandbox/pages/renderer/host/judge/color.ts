/** Colours as browsers compute them. */

/** Returns the alpha of a colour, 0 to 1, or null for what is none: `rgb(0, 0, 0)` is opaque, `oklch(0.5 0.1 20 / 30%)` is not. */
export function readAlpha(color: string): number | null {
  if (color === 'transparent') return 0
  const [, name, inside] = /^([a-z]*)\(([^()]*)\)$/i.exec(color) ?? []
  if (inside === undefined) return /^(#[0-9a-f]{3,8}|[a-z]+)$/i.test(color) ? readHexAlpha(color) : null
  const alpha = inside.split('/')[1] ?? (/^(rgb|hsl)a?$/i.test(name!) ? inside.split(',')[3] : undefined)
  return alpha === undefined ? 1 : readShare(alpha)
}

function readHexAlpha(color: string): number {
  const digits = color.startsWith('#') ? color.slice(1) : ''
  if (digits.length === 4) return Number.parseInt(digits[3]!, 16) / 15
  return digits.length === 8 ? Number.parseInt(digits.slice(6), 16) / 255 : 1
}

/** Returns a number or a percentage as a share. `none` is 0, as everywhere in colours. */
export function readShare(value: string): number {
  return (Number.parseFloat(value) || 0) / (value.includes('%') ? 100 : 1)
}
