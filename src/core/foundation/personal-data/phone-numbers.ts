/**
 * Telephone numbers. One that is written internationally is recognized by its +, a national one by its leading zero or
 * its groups, and any other by a word in front of it: `text 5551234567`.
 */
import { countDigits, type NumberRun } from './number-runs.ts'

/** Digits of a number with and without its country code (E.164 has at most 15). */
const international = { min: 8, max: 15 }
const national = { min: 9, max: 12 }
const named = { min: 7, max: 13 }

export function hasPhoneNumber(run: NumberRun): boolean {
  if (isInsideWord(run) || isDate(run)) return false
  return isInternational(run) || isNational(run) || isNamed(run)
}

/** Digits of a longer token, such as a UUID, a version, a price or a fraction. */
function isInsideWord({ before, after }: NumberRun): boolean {
  return /[\p{L}\p{N}_#=:,.$€£¥/-]$/u.test(before.replace(labelBefore, ' ')) || /^[A-Za-z_%$€£¥]/.test(after)
}

/** `tel:` and `number=` are no part of a token. */
const labelBefore = /\p{L}{2,}(?::|=|\.:?)$/u

function isDate({ groups, separators }: NumberRun): boolean {
  const [a = '', b = '', c = ''] = groups
  const isYearFirst = /^(?:19|20)\d\d$/.test(a) && isTwo(b) && isTwo(c)
  const isYearLast = isTwo(a) && isTwo(b) && /^(?:19|20)\d\d$/.test(c)
  return separators[0] === separators[1] && (isYearFirst || isYearLast)
}

function isTwo(group: string): boolean {
  return /^[0-3]?\d$/.test(group)
}

function isInternational({ groups, before }: NumberRun): boolean {
  const isPlus = /(?:^|[^\p{N}])\+\(?$/u.test(before)
  const isZeros = /^00[1-9]/.test(groups[0]!) && groups.length > 1
  if (!isPlus && !isZeros) return false
  const digits = countDigits(groups) - (isZeros ? 2 : 0)
  return digits >= international.min && digits <= international.max && (!isPlus || groups[0] !== '0')
}

function isNational(run: NumberRun): boolean {
  const { groups, separators } = run
  const digits = countDigits(groups)
  if (digits < national.min || digits > national.max || groups.length < 2) return false
  const [first = ''] = groups
  const lengths = groups.map(({ length }) => length).join()
  // 06.12.34.56.78, but not 01.2345.678
  const isDotted = separators.includes('.') && lengths !== '2,2,2,2,2'
  if (/^0[1-9]\d{0,3}$/.test(first)) return groups.length <= 5 && !isDotted
  // 138-0013-8000 in China; 8 (912) 345-67-89 in Russia.
  if (/^1[3-9]\d$/.test(first) && lengths === '3,4,4') return true
  if (/^[78]$/.test(first) && lengths === '1,3,3,2,2') return true
  return isNorthAmerican(run)
}

/** (415) 555-2671, 212.555.0187, 1-800-555-0199. */
function isNorthAmerican({ groups, separators, before }: NumberRun): boolean {
  const [area = '', office = '', line = '', ...others] = groups[0] === '1' ? groups.slice(1) : groups
  const isGrouped = /^[2-9]\d\d$/.test(area) && /^[2-9]\d\d$/.test(office) && /^\d{4}$/.test(line)
  return isGrouped && others.length === 0 && (before.endsWith('(') || /^[.-]$/.test(separators.at(-1)!))
}

function isNamed({ groups, before, after }: NumberRun): boolean {
  const digits = countDigits(groups)
  if (digits < named.min || digits > named.max || groups.length > 5) return false
  if (groups.length > 1 && groups.some(({ length }) => length > 8 || length < 2)) return false
  // 12 14 16 18 are sizes.
  if (groups.every(({ length }) => length < 3)) return false
  return cueBefore.test(before) || cueAfter.test(after)
}

const cues = [
  'call|phone|ph|tele?phone|tel|mobile|mobil|cell|cellphone|whats ?app|sms|text|ring|dial|fax|handy|cel',
  'telefon|telefonu|telefonum|telefono|teléfono|telefone|móvil|movil|celular|cellulare|portable|appelez|rappelez|rappel',
  'llama(?:me)?|chiama(?:mi)?|ligue|anrufen|anruf|rückruf|handynummer|telefonnummer|zadzwoń|zadzwonic|dzwoń|bel(?:len)?',
  'ring på|тел|телефон|звонить|позвоните|звоните|контакт|контакты',
].join('|')
const cueWord = `(?:(?<![\\p{L}])(?:${cues})(?![\\p{L}])|电话|手机|電話|携帯|전화|연락|फोन|नंबर|هاتف|رقم|טלפון)`

/** A word that comes before or after a telephone number, and at most a few short words between them. */
const cueBefore = new RegExp(`${cueWord}[^\\p{N}]{0,24}$`, 'iu')
const cueAfter = new RegExp(`^[^\\p{N}]{0,16}${cueWord}`, 'iu')
