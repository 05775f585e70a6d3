/** The verdict on a report of Stryker: the score of each file, and the survivors that no explanation covers. */

/** Stryker's JSON report, as far as the verdict reads it. */
export interface Report {
  files: Record<string, { source: string; mutants: readonly Mutant[] }>
}

interface Mutant {
  status: string
  mutatorName: string
  replacement: string
  /** Lines and columns from 1. */
  location: { start: Position; end: Position }
}

interface Position {
  line: number
  column: number
}

/** Why mutants survive and may: what they change makes no difference to anyone. */
export interface Explanation {
  /** The file, relative to the repository. */
  in: string
  /** The code that is replaced. A code that ends with … is the start of it. */
  code: string
  /** The replacement, likewise. */
  becomes: string
  /** The number of such mutants in the file, 1 unless it says otherwise. */
  count?: number
  why: string
}

interface Survivor {
  file: string
  line: number
  mutator: string
  code: string
  becomes: string
}

interface FileScore {
  file: string
  noticed: number
  total: number
}

export interface Verdict {
  files: readonly FileScore[]
  noticed: number
  total: number
  survivors: readonly Survivor[]
  unexplained: readonly Survivor[]
  /** Explanations whose count is not that of the survivors they cover, with that number. */
  stale: readonly { explanation: Explanation; found: number }[]
}

/** A test failed, or the code ran without an end. */
const noticed = new Set(['Killed', 'Timeout'])
/** No test failed; a mutant that no test reaches survives too. */
const survived = new Set(['Survived', 'NoCoverage'])

/**
 * Judges the mutants of `chosen`, files relative to the repository.
 * @throws Error when one of them has no mutants, or a mutant has no result
 */
export function judgeMutants(report: Report, chosen: readonly string[], explanations: readonly Explanation[]): Verdict {
  const files: FileScore[] = []
  const survivors: Survivor[] = []
  for (const file of chosen) {
    const { source, mutants } = report.files[file] ?? { source: '', mutants: [] }
    if (mutants.length === 0) throw new Error(`${file} has no mutants: nothing of it was checked.`)
    const odd = mutants.find(({ status }) => !noticed.has(status) && !survived.has(status))
    if (odd !== undefined)
      throw new Error(`${file}:${odd.location.start.line} has a mutant without a result: ${odd.status}`)
    const left = mutants.filter(({ status }) => survived.has(status))
    files.push({ file, noticed: mutants.length - left.length, total: mutants.length })
    survivors.push(...left.map((mutant) => describeSurvivor(file, source, mutant)))
  }
  const total = files.reduce((sum, each) => sum + each.total, 0)
  const covered = explanations
    .filter((each) => chosen.includes(each.in))
    .map((explanation) => ({
      explanation,
      survivors: survivors.filter((survivor) => covers(explanation, survivor)),
    }))
  const explained = new Set(covered.flatMap((each) => each.survivors))
  return {
    files,
    noticed: total - survivors.length,
    total,
    survivors,
    unexplained: survivors.filter((survivor) => !explained.has(survivor)),
    stale: covered
      .map((each) => ({ explanation: each.explanation, found: each.survivors.length }))
      .filter(({ explanation, found }) => found !== (explanation.count ?? 1)),
  }
}

/** Percent, with one decimal, rounded down: 89.99 is not 90. */
export function percent({ noticed, total }: { noticed: number; total: number }): number {
  return Math.floor((noticed * 1_000) / total) / 10
}

function describeSurvivor(file: string, source: string, { mutatorName, replacement, location }: Mutant): Survivor {
  const lines = source.split('\n').slice(location.start.line - 1, location.end.line)
  const last = lines.pop()!.slice(0, location.end.column - 1)
  const code = [...lines, last].join('\n').slice(location.start.column - 1)
  return { file, line: location.start.line, mutator: mutatorName, code: fold(code), becomes: fold(replacement) }
}

function covers(explanation: Explanation, { file, code, becomes }: Survivor): boolean {
  return explanation.in === file && fits(explanation.code, code) && fits(explanation.becomes, becomes)
}

function fits(pattern: string, text: string): boolean {
  return pattern.endsWith('…') ? text.startsWith(pattern.slice(0, -1)) : text === pattern
}

function fold(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}
