/** Seeded dice, so that a failure can be had again. */
export interface Dice {
  readonly seed: number
  /** A number of [0, 1). */
  roll(): number
  /** An integer from 0 to below `count`. */
  below(count: number): number
  chance(share: number): boolean
  pick<T>(items: readonly T[]): T
}

/** mulberry32 */
export function createDice(seed: number): Dice {
  let state = seed >>> 0
  const roll = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
  const below = (count: number) => Math.floor(roll() * count)
  return {
    seed,
    roll,
    below,
    chance: (share) => roll() < share,
    pick: (items) => items[below(items.length)]!,
  }
}
