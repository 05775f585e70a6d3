/**
 * Counts as people write them: `1,204`, `1.204`, `1 204`, `1'204`, `3,00`. Whether a point or a comma is the decimal
 * sign is decided once for a file, by the cells that leave no doubt.
 */
import { findEntry } from '#foundation/table-entry.ts'
import { OwnFileError } from '../own-file-error.ts'

export type DecimalSign = '.' | ','

/** A comma or a point before three digits at the end is either sign; blanks and apostrophes only separate thousands. */
const wholeNumber: Readonly<Record<DecimalSign, RegExp>> = {
  '.': /^(?:\d+|[1-9]\d{0,2}(?:([,\s'’])\d{3})(?:\1\d{3})*|[1-9]\d?(?:,\d{2})+,\d{3})(?:\.0+)?$/,
  ',': /^(?:\d+|[1-9]\d{0,2}(?:([.\s'’])\d{3})(?:\1\d{3})*)(?:,0+)?$/,
}

/** Returns a whole number from 0, or null. Blanks around it do not matter. */
export function parseWhole(text: string, decimal: DecimalSign): number | null {
  const trimmed = text.trim()
  if (!wholeNumber[decimal].test(trimmed)) return null
  const [whole = ''] = trimmed.split(decimal)
  const value = Number(whole.replace(/\D/g, ''))
  return Number.isSafeInteger(value) ? value : null
}

/** Cells that may be counts, and others of the same file, which its writer formatted the same way. */
interface NumberCells {
  counts: Iterable<string>
  others(): Iterable<string>
  separator: string | null
}

/**
 * Returns the decimal sign of a file; null where no cell needs one.
 * @param chosen the one that its user gives
 * @throws OwnFileError where a count could be either
 */
export function findDecimalSign({ counts, others, separator }: NumberCells, chosen: DecimalSign | null): DecimalSign {
  if (chosen !== null) return chosen
  const examples: Partial<Record<DecimalSign | 'either', string>> = {}
  for (const cell of counts) {
    const sign = decideBy(cell)
    if (sign !== null) examples[sign] ??= cell.trim()
  }
  const { '.': point, ',': comma, either } = examples
  if (point !== undefined && comma !== undefined) {
    throw ambiguous(`Its counts are written in two ways: ${point} and ${comma}.`)
  }
  if (point !== undefined) return '.'
  if (comma !== undefined) return ','
  if (either === undefined) return '.'
  for (const cell of others()) {
    const sign = decideAmount(cell)
    if (sign !== null) return sign
  }
  // Programs separate cells by semicolons where the comma is their decimal sign, and by commas where it is not.
  if (separator === ';' && either.includes('.')) return ','
  if (separator === ',' && either.includes(',')) return '.'
  throw ambiguous(`Its count ${either} could be ${either.split(/[.,]/)[0]} or ${either.replace(/[.,]/g, '')}.`)
}

function ambiguous(message: string): OwnFileError {
  return new OwnFileError(message, 'Choose how its numbers are written.', {
    command_hint: 'Say how its numbers are written: --numbers 1.234,5 or --numbers 1,234.5',
  })
}

/** Returns the sign that a count leaves no doubt about, `either` where there is one; null for a plain number, or none. */
function decideBy(cell: string): DecimalSign | 'either' | null {
  if (!/[.,]/.test(cell)) return null
  const [point, comma] = [parseWhole(cell, '.'), parseWhole(cell, ',')]
  if (point === null && comma === null) return null
  if (point === null) return ','
  return comma === null ? '.' : 'either'
}

/** Returns the decimal sign of an amount, a rate or a price that leaves no doubt: `0,5`, `1.234,56`, `12.5 %`. */
function decideAmount(cell: string): DecimalSign | null {
  const [, digits = ''] = /^[-+€$£¥\s]{0,4}(\d[\d.,\s'’]{0,30})[€$£¥%\sA-Z]{0,5}$/.exec(cell) ?? []
  const [, thousands] = /^\d{1,3}([.,])\d{3}(?:\1\d{3})+$/.exec(digits) ?? []
  if (thousands !== undefined) return thousands === '.' ? ',' : '.'
  const [, before = '', sign, after = ''] = /^(.*)([.,])(\d+)\s*$/.exec(digits) ?? []
  if (sign === undefined || before.includes(sign)) return null
  const isThousands = after.length === 3 && !/^0+$/.test(before) && !/[.,]/.test(before)
  return isThousands ? null : (sign as DecimalSign)
}

/** Returns how the counts of a column are written, `thousands with a point`; null for plain numbers. */
export function describeNumbers(cells: Iterable<string>, decimal: DecimalSign): string | null {
  let found: string | null = null
  for (const cell of cells) {
    const [, mark] = /^\d{1,3}([.,\s'’])\d/.exec(cell.trim()) ?? []
    if (mark === undefined) continue
    if (mark !== decimal) return `thousands with ${findEntry(markNames, mark) ?? 'a space'}`
    found ??= `decimals with ${findEntry(markNames, mark) ?? 'a space'}`
  }
  return found
}

const markNames: Readonly<Record<string, string>> = {
  '.': 'a point',
  ',': 'a comma',
  "'": 'an apostrophe',
  '’': 'an apostrophe',
}

/** Returns the decimal sign of an example, such as `1.234,5`; null for any other text. */
export function parseNumberExample(text: string): DecimalSign | null {
  const [, sign] = /^1[.,\s'’]?234([.,])\d+$/.exec(text.trim()) ?? []
  return sign === undefined ? null : (sign as DecimalSign)
}
