/** The names that programs give to rows of totals. */

const totalWords = new Set(
  [
    'total|totals|grand total|grand totals|subtotal|sub total|sub-total|overall|overall total|sum|all rows',
    'gesamt|gesamtsumme|gesamtergebnis|insgesamt|summe|ergebnis|teilergebnis|zwischensumme',
    'total général|total general|totaux|sous-total|somme|totale|totale generale|totale complessivo|totali',
    'total geral|totales|suma|suma total|soma|totaal|eindtotaal|subtotaal|totalt|summa|yhteensä',
    'razem|suma końcowa|toplam|genel toplam|итого|общий итог|всего|合計|総計|小計|总计|合计|總計|총계|합계',
  ].flatMap((words) => words.split('|')),
)
/** Names only by themselves: `All Stars` is one of something. An average is no count either. */
const allWords = new Set(
  [
    'all|alle|tous|toutes|todos|todas|tutti|tutte|(all)|すべて|全体|全部|전체',
    'average|avg|durchschnitt|mittelwert|moyenne|promedio|gemiddelde|平均',
  ].flatMap((words) => words.split('|')),
)

const maxNameLength = 60
/** A part of each of those names: most cells have none. */
const anyPart = /tot|sum|som|all|gesamt|ergebnis|yhteens|razem|toplam|итог|всего|計|计|합계|총계/i

/** Whether a cell is the name of a row of totals: `Grand Total:`, `Gesamt (12)`. */
export function isTotalName(cell: unknown): boolean {
  if (typeof cell !== 'string' || cell.length > maxNameLength) return false
  return allWords.has(cell.trim().toLowerCase()) || (anyPart.test(cell) && isTotalWord(cell))
}

function isTotalWord(text: string): boolean {
  const words = text
    .toLowerCase()
    .replace(/\([^()]*\)/g, '')
    .replace(/[\s:：*=]+/g, ' ')
    .trim()
  return totalWords.has(words)
}

/** Whether a cell may be the total of a group: `2026-01-31 Total`, `Total for January`. */
export function namesTotal(cell: unknown): boolean {
  return isTotalName(cell) || restOfTotal(cell) !== ''
}

/** Returns the group of a total, `Spring` of `Spring Total`; empty for any other cell. */
export function restOfTotal(cell: unknown): string {
  if (typeof cell !== 'string' || cell.length > maxNameLength || !anyPart.test(cell)) return ''
  const words = cell.trim().split(/\s+/)
  for (const count of [2, 1]) {
    if (isTotalWord(words.slice(-count).join(' '))) return words.slice(0, -count).join(' ')
    if (isTotalWord(words.slice(0, count).join(' ')))
      return words
        .slice(count)
        .join(' ')
        .replace(/^(?:for|of|für|von|de|pour|per)\s+/i, '')
  }
  return ''
}
