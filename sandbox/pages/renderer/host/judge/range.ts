/** A share that is only known to lie between two bounds, 0 to 1: of what cannot be read from styles, 0 and 1. */
export type Range = readonly [least: number, most: number]

export const none: Range = [0, 0]
export const all: Range = [1, 1]
export const unknown: Range = [0, 1]

export function exactly(share: number): Range {
  const value = Math.max(0, Math.min(1, share))
  return [value, value]
}

/** Shares of shares, such as the opacities of nested elements. */
export function times(one: Range, other: Range): Range {
  return [one[0] * other[0], one[1] * other[1]]
}

/** What the alpha of one layer and another hide together. */
export function over(one: Range, other: Range): Range {
  return [1 - (1 - one[0]) * (1 - other[0]), 1 - (1 - one[1]) * (1 - other[1])]
}

/** Something that may be at a place or not. */
export function perhaps([, most]: Range): Range {
  return [0, most]
}

export function rest([least, most]: Range): Range {
  return [1 - most, 1 - least]
}
