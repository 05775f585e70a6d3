/** International bank account numbers (ISO 13616): country, length, and check digits modulo 97. */

/** The length of an IBAN by its country. */
const lengths: ReadonlyMap<string, number> = new Map(
  `
  AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24
  FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32
  LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24
  RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30
`
    .trim()
    .split(/\s+/)
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
)

/** Country, check digits, and what may follow: words after the number match too, and are cut off by the length. */
const candidate = /(?<![A-Za-z0-9])[A-Za-z]{2}[0-9]{2}(?:[ -]?[A-Za-z0-9]){11,29}/g

export function hasIban(text: string): boolean {
  for (const [found] of text.matchAll(candidate)) {
    const length = lengths.get(found.slice(0, 2).toUpperCase())
    if (length !== undefined && isIban(found, length)) return true
  }
  return false
}

function isIban(found: string, length: number): boolean {
  let iban = ''
  let at = 0
  for (; at < found.length && iban.length < length; at++) {
    const character = found[at]!
    if (character !== ' ' && character !== '-') iban += character.toUpperCase()
  }
  const isWhole = iban.length === length && !/^[A-Za-z0-9]/.test(found.slice(at))
  return isWhole && remainderOf97(iban.slice(4) + iban.slice(0, 4)) === 1
}

/** Returns the remainder by 97 of a number in which letters stand for 10 to 35. */
function remainderOf97(text: string): number {
  let remainder = 0
  for (const character of text) {
    const value = Number.parseInt(character, 36)
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97
  }
  return remainder
}
