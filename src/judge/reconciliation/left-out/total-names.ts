/** The names that programs give to rows of totals and averages. */

const totalWords = new Set(
  [
    'total|totals|grand total|grand totals|subtotal|sub total|sub-total|overall|overall total|sum|all rows',
    'gesamt|gesamtsumme|gesamtergebnis|insgesamt|summe|ergebnis|teilergebnis|zwischensumme',
    'total général|total general|totaux|sous-total|somme|totale|totale generale|totale complessivo|totali',
    'total geral|totales|suma|suma total|soma|totaal|eindtotaal|subtotaal|totalt|summa|yhteensä',
    'razem|łącznie|ogółem|suma końcowa|suma częściowa|toplam|genel toplam|ara toplam|celkem|spolu|összesen|i alt|ukupno|σύνολο',
    'итого|итоги|общий итог|всего|всього|合計|総計|小計|計|总计|合计|小计|總計|总和|총계|합계|소계|รวม|tổng|tổng cộng|σ',
  ].flatMap((words) => words.split('|')),
)
/** Names only by themselves: `All Stars` is one of something. */
const allWords = new Set('all|alle|tous|toutes|todos|todas|tutti|tutte|(all)|すべて|全体|全部|전체'.split('|'))
/** An average is no count either. */
const averageWords = new Set(
  'average|avg|mean|durchschnitt|mittelwert|ø|moyenne|promedio|gemiddelde|średnia|среднее|ortalama|genomsnitt|平均|平均値|平均值|평균'.split(
    '|',
  ),
)
/** Names of a campaign as well: they are those of a row only where its key would be. */
const statisticWords = new Set('media|média|median|mediana|médiane|min|max|minimum|maximum'.split('|'))

const maxNameLength = 60
/** A part of each name of a total: most cells have none. */
const anyPart =
  /tot|sum|som|all|gesamt|ergebnis|yhteens|razem|łączn|ogół|toplam|celk|spolu|összes|i alt|ukup|σ|ит|всего|всього|計|计|和|계|รวม|tổng/i
/** A part of each name of an average or another statistic. */
const anyAverage = /av|mean|durch|mittel|ø|moy|prom|gemid|śred|сред|ortal|genom|平|평|m[eé]d|min|max/i

/** Whether a cell is the name of a row of totals: `Grand Total:`, `Gesamt (12)`. */
export function isTotalName(cell: unknown): boolean {
  if (isAverageName(cell)) return true
  if (typeof cell !== 'string' || cell.length > maxNameLength) return false
  return allWords.has(cell.trim().toLowerCase()) || (anyPart.test(cell) && isTotalWord(cell))
}

/** Whether a label may be one of all others: `All devices`. */
export function namesAll(label: string): boolean {
  return allWords.has(label.split(/\s/)[0]!.toLowerCase()) || /^全/.test(label)
}

/** Whether a label is of another time, a part of other rows, or no count: `Previous period`, `of which mobile`, `% change`, `Bots`. */
export function namesOther(cell: unknown): boolean {
  return typeof cell === 'string' && [otherTime, partWords, noCounts].some((words) => words.test(cell.trim()))
}

const otherTime =
  /^(?:(?:previous|prior|last)(?: (?:period|year|quarter|month|week|day)| date range)?|vorperiode|vorjahr|vorheriger zeitraum|période précédente|前期|前年)$/i
const noCounts = /^(?:%(?: .*)?|percent(?:age)?|pct|invalid(?: traffic| clicks)?|[gs]?ivt|bots?|filtered|excluded)$/i
const partWords =
  /^(?:- )?(?:of which|thereof|incl\.|including|davon|darunter|dont|di cui|うち)\s|^[-–•└├>]\s+\p{L}[^-–]*$/iu

/** Whether a cell is the name of a row of averages: `Avg.`. */
export function isAverageName(cell: unknown): boolean {
  return isShortWith(cell, anyAverage) && averageWords.has(normalizeName(cell))
}

/** Whether a cell in the place of a key names an average, or another statistic of its rows: `Daily average`, `Max`. */
export function namesStatistic(cell: unknown): boolean {
  if (!isShortWith(cell, anyAverage)) return false
  const name = normalizeName(cell)
  const words = name.split(' ')
  return statisticWords.has(name) || averageWords.has(words[0]!) || averageWords.has(words.at(-1)!)
}

/** Whether a cell may be a name with a part. */
function isShortWith(cell: unknown, part: RegExp): cell is string {
  return typeof cell === 'string' && cell.length <= maxNameLength && part.test(cell)
}

function isTotalWord(text: string): boolean {
  return totalWords.has(normalizeName(text))
}

/** Names in Chinese characters may have blanks between them. */
function normalizeName(text: string): string {
  const bare = text.replace(/\([^()]*\)/g, '')
  return (bare.trim() === '' ? text : bare)
    .toLowerCase()
    .replace(/[\s:：*=./&_#()[\]]+/g, ' ')
    .replace(/(^|\s)[-–—]{1,9}(?=\s|$)/g, ' ')
    .replace(/(?<=\p{Script=Han}) (?=\p{Script=Han})/gu, '')
    .trim()
}

/** Whether a cell may be the total of a group: `2026-01-31 Total`, `Total for January`. */
export function namesTotal(cell: unknown): boolean {
  return isTotalName(cell) || restOfTotal(cell) !== ''
}

/** Returns the group of a total, `Spring` of `Spring Total`; empty for any other cell. */
export function restOfTotal(cell: unknown): string {
  if (!isShortWith(cell, anyPart)) return ''
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
