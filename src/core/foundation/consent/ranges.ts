/**
 * The ranges of consent strings, counted before the IAB's libraries write them out: eighteen characters can name more than 2^53
 * sections, and a few thousand some forty million vendors.
 */

/** The vendors of the largest strings are some thousands in all. 8,000 take 40 ms of a processor for each consent of a list. */
const maxVendors = 8_000

/** @throws Error when the header of a GPP string names another number of sections than follow it */
export function checkSectionRanges(text: string): void {
  const [header = '', ...sections] = text.split('~')
  const bits = new Bits(header)
  // Type and version.
  bits.read(12)
  let named = 0
  for (let groups = bits.read(12); groups > 0 && named <= sections.length; groups--) {
    const isRange = bits.read(1) === 1
    bits.readFibonacci()
    // The end of a range counts from its start.
    named += isRange ? bits.readFibonacci() + 1 : 1
  }
  if (named > sections.length) throw new Error('its header names more sections than it has.')
}

/** @throws Error when the ranges of a TCF string have more vendors than any tool knows */
export function checkVendorRanges(text: string): void {
  let vendors = 0
  const count = (entries: number, bits: Bits): void => {
    for (; entries > 0; entries--) {
      const isRange = bits.read(1) === 1
      const first = bits.read(16)
      vendors += isRange ? Math.max(0, bits.read(16) - first) + 1 : 1
      if (vendors > maxVendors) throw new Error('its ranges have more vendors than there are.')
    }
  }
  const [core = '', ...segments] = text.split('.')
  const bits = new Bits(core)
  bits.read(vendorsAt)
  countVendors(bits, count)
  countVendors(bits, count)
  for (let restrictions = bits.read(12); restrictions > 0 && !bits.isOver; restrictions--) {
    // Purpose and type.
    bits.read(8)
    count(bits.read(12), bits)
  }
  for (const segment of segments) {
    const more = new Bits(segment)
    if (vendorSegments.includes(more.read(3))) countVendors(more, count)
  }
}

/** Where the vendors begin in the core of TCF 2. */
const vendorsAt = 213
/** Disclosed and allowed vendors. */
const vendorSegments: readonly number[] = [1, 2]

/** Vendors are a bit each, or entries. */
function countVendors(bits: Bits, count: (entries: number, bits: Bits) => void): void {
  const last = bits.read(16)
  if (bits.read(1) === 1) count(bits.read(12), bits)
  else bits.read(last)
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** Reads bits in turn; those past the end are zero. */
class Bits {
  readonly #bits: string
  #at = 0

  constructor(text: string) {
    this.#bits = [...text].map((each) => Math.max(0, alphabet.indexOf(each)).toString(2).padStart(6, '0')).join('')
  }

  get isOver(): boolean {
    return this.#at >= this.#bits.length
  }

  /** Returns the number in the next bits; of many bits, which are skipped, not exactly. */
  read(length: number): number {
    const digits = this.#bits.slice(this.#at, this.#at + length).padEnd(length, '0')
    this.#at += length
    return Number.parseInt(digits, 2) || 0
  }

  /** Returns a number in Fibonacci coding, which ends with two ones. */
  readFibonacci(): number {
    let [value, weight, next] = [0, 1, 2]
    for (let last = 0; !this.isOver; [weight, next] = [next, weight + next]) {
      const bit = this.read(1)
      if (bit === 1 && last === 1) break
      value += bit * weight
      last = bit
    }
    return value
  }
}
