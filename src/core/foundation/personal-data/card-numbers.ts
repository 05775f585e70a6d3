/** Payment card numbers: the prefixes of card networks, their groups, and the check digit of Luhn (ISO/IEC 7812). */
import type { NumberRun } from './number-runs.ts'

/** The prefixes of networks that issue cards. */
const issuer =
  /^(?:4|5[0-8]|2(?:2(?:0[0-4]|2[1-9]|[3-9])|[3-6]|7(?:[01]|20))|3(?:[47689]|0[0-5]|5(?:2[89]|[3-8]))|6(?:011|0|2|3|4[4-9]|5|7))/

/** How cards are printed: the lengths of the groups. */
const layouts = ['16', '15', '14', '4,4,4,4', '4,6,5', '4,6,4', '4,4,4,4,3', '8,8'].map((text) => text.split(','))

export function hasCardNumber({ groups, separators, before, after }: NumberRun): boolean {
  return layouts.some((lengths) => {
    for (let at = 0; at + lengths.length <= groups.length; at++) {
      if (!isLaidOut(groups, at, lengths)) continue
      const between = separators.slice(at, at + lengths.length - 1)
      if (between.some((each) => each !== between[0] || !/^[ .-]$/.test(each))) continue
      // A longer row of such groups is another number, and so is one in the middle of a word.
      if (at > 0 && separators[at - 1] === between[0] && groups[at - 1]!.length === 4) continue
      if (at === 0 && /[\p{L}\p{N}_.+-]$/u.test(before)) continue
      if (at + lengths.length === groups.length && /^[\p{L}_]/u.test(after)) continue
      if (isCard(groups.slice(at, at + lengths.length).join(''))) return true
    }
    return false
  })
}

function isLaidOut(groups: readonly string[], at: number, lengths: readonly string[]): boolean {
  return lengths.every((length, index) => groups[at + index]!.length === Number(length))
}

function isCard(digits: string): boolean {
  // Only these networks have fewer than 16.
  if (digits.length === 15 && !/^3[47]/.test(digits)) return false
  if (digits.length === 14 && !/^3[0689]/.test(digits)) return false
  return issuer.test(digits) && passesLuhn(digits)
}

/** Doubles every second digit from the right; the sum of all digits must be divisible by ten. */
function passesLuhn(digits: string): boolean {
  let sum = 0
  for (let index = 0; index < digits.length; index++) {
    const digit = digits.charCodeAt(digits.length - 1 - index) - 48
    const value = index % 2 === 1 ? digit * 2 : digit
    sum += value > 9 ? value - 9 : value
  }
  return sum % 10 === 0
}
