/** The JSON report that vitest writes of a run: which tests it had, and what became of each. */
import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'

export interface TestOutcome {
  /** The path of its file in the checkout. */
  file: string
  /** Unique in the report. */
  name: string
  outcome: 'passed' | 'failed' | 'skipped'
}

/** The tests of a report, or why there are none to read. */
export type Report =
  | { status: 'read'; tests: readonly TestOutcome[] }
  /** `isEmpty`: it is a report, of no test. */
  | { status: 'unreadable'; problem: string; isEmpty: boolean }

interface ReportedFile {
  name: string
  status: string
  startTime: number
  endTime: number
  assertionResults: { fullName: string; status: string }[]
}

/** Reads a report. One that is missing, no JSON, or without a test says so: nothing that it leaves out has passed. */
export function readReport(path: string): Report {
  if (!existsSync(path)) return { status: 'unreadable', problem: 'there is no report', isEmpty: false }
  let files: ReportedFile[]
  try {
    files = readFiles(path)
  } catch {
    return { status: 'unreadable', problem: 'its report is not one that vitest writes', isEmpty: false }
  }
  const tests = collectTests(files)
  if (tests.length > 0) return { status: 'read', tests }
  return { status: 'unreadable', problem: 'its report has no test', isEmpty: true }
}

/** Returns how long each file of a report took, whole seconds. Throws for an unreadable report. */
export function readSeconds(path: string): [file: string, seconds: number][] {
  return readFiles(path).map(({ name, startTime, endTime }) => [
    relative(process.cwd(), name),
    Math.round((endTime - startTime) / 1000),
  ])
}

function readFiles(path: string): ReportedFile[] {
  const { testResults } = JSON.parse(readFileSync(path, 'utf8')) as { testResults?: ReportedFile[] }
  if (!Array.isArray(testResults)) throw new TypeError(`${path} has no testResults`)
  return testResults
}

/**
 * A file that failed without a failed test, as one that could not be loaded, is one failed test. A file that ran in several
 * projects, such as two browsers, is there several times: its tests are numbered. One that a runner has taken out never started:
 * it is of another suite (part.ts), and not skipped.
 */
function collectTests(files: readonly ReportedFile[]): TestOutcome[] {
  const seen = new Map<string, number>()
  return files.flatMap(({ name: path, status, assertionResults }) => {
    const file = relative(process.cwd(), path)
    const own = assertionResults.filter(({ status }) => status !== 'pending')
    const tests = own.map(({ fullName, status }): TestOutcome => {
      const name = `${file} > ${fullName}`
      const ordinal = (seen.get(name) ?? 0) + 1
      seen.set(name, ordinal)
      const outcome = status === 'passed' || status === 'failed' ? status : 'skipped'
      return { file, name: ordinal === 1 ? name : `${name} (${ordinal})`, outcome }
    })
    const isBroken = status === 'failed' && !tests.some(({ outcome }) => outcome === 'failed')
    return isBroken ? [...tests, { file, name: describeFile(file), outcome: 'failed' }] : tests
  })
}

/** Returns the name of the one failed test that a file is which failed by itself. */
export function describeFile(file: string): string {
  return `${file} (the file itself)`
}

/** Returns how many tests of a report have an outcome. */
export function countTests(tests: readonly TestOutcome[], outcome: TestOutcome['outcome']): number {
  return tests.filter((test) => test.outcome === outcome).length
}

/** A run as its exit code and its report tell it. */
export interface FinishedRun {
  exitCode: number
  report: Report
  /** The fewest tests that a complete run passes; 0 for a part of a suite. */
  minimumTests: number
}

/** Returns why a run did not pass, a sentence each; none for one that did. An exit code of 0 is not enough. */
export function findProblems({ exitCode, report, minimumTests }: FinishedRun): string[] {
  const problems = exitCode === 0 ? [] : [`its exit code is ${exitCode}`]
  if (report.status === 'unreadable') return [...problems, report.problem]
  const failed = countTests(report.tests, 'failed')
  if (failed > 0) problems.push(`${failed} of its tests failed`)
  const passed = countTests(report.tests, 'passed')
  if (passed < minimumTests) problems.push(`${passed} tests passed, and it has at least ${minimumTests}`)
  return problems
}
