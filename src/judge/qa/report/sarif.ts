/**
 * The reporter `sarif`: Static Analysis Results Interchange Format 2.1.0, for code scanning. A result is a failure or a
 * warning with a place in a file of the project: in a suite, a file of steps, a file of beacons, a source with a secret
 * key. Code scanning refuses results without one, and none is invented: other findings are notifications of the run.
 */
import { createHash } from 'node:crypto'
import type { Finding, SourceLocation } from '#foundation/finding.ts'
import { type CaseResult, type Check, type Reporter, type RunResult, runProblems } from '../result.ts'
import { caseTitle, checkSentence, type Destination, failureSentence, findReason } from './text.ts'

const schema = 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json'
/** Where a started sandbox serves the documentation. */
const localBaseUrl = 'http://127.0.0.1:4010'

/** A failure or a warning, as it is reported. */
interface ReportedFinding extends Pick<Finding, 'message' | 'severity'> {
  item: CaseResult
  /** What it is about, the same in every run: the name of the check, or the dotted field. */
  subject: string
  fix: string | null
  place: SourceLocation | null
  /** Which line of `svc.observe.yaml` accepts it, and why. */
  accepted?: string
}

export function createSarifReporter({ write, stream, sourceUri }: Destination): Reporter {
  const indent = stream === null || stream.is_terminal ? 2 : undefined
  return { end: (result) => write(`${JSON.stringify(toSarif(result, sourceUri), null, indent)}\n`) }
}

function toSarif(result: RunResult, sourceUri: (file: string) => string) {
  const { cases, command, svc_version, started_at_ms, duration_ms } = result
  const findings = cases.flatMap((item) => [...findingsIn(item), ...acceptedIn(item)])
  const rules = [...Map.groupBy(findings, ({ item }) => item.id).values()].map(([first]) => toRule(first!, result))
  const indexes = new Map(rules.map(({ id }, index) => [id, index]))
  const fingerprint = createFingerprints()
  const problems = runProblems(result)
  return {
    $schema: schema,
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'svc', semanticVersion: svc_version, rules } },
        automationDetails: { id: `svc-${command.replaceAll(' ', '-')}/` },
        columnKind: 'utf16CodeUnits',
        invocations: [
          {
            // The findings of a run that looked at nothing are no verdict.
            executionSuccessful: problems.length === 0,
            startTimeUtc: new Date(Math.round(started_at_ms)).toISOString(),
            endTimeUtc: new Date(Math.round(started_at_ms + duration_ms)).toISOString(),
            toolExecutionNotifications: [
              ...problems.map((text) => ({ level: 'error', message: { text } })),
              ...findings.filter(({ place }) => place === null).map(toNotification),
            ],
          },
        ],
        results: findings.flatMap((finding) => {
          const { item, severity: level, place, subject } = finding
          if (place === null) return []
          const uri = sourceUri(place.file)
          return {
            ruleId: item.id,
            ruleIndex: indexes.get(item.id),
            level,
            message: { text: messageText(finding) },
            locations: [toLocation(place, uri)],
            partialFingerprints: { 'svcFinding/v1': fingerprint([item.id, uri, subject]) },
            ...(finding.accepted !== undefined && {
              suppressions: [{ kind: 'external', justification: finding.accepted }],
            }),
          }
        }),
      },
    ],
  }
}

/** Returns each failed check of a case, each failed step without one, and each warning. */
function findingsIn(item: CaseResult): ReportedFinding[] {
  const { outcome, reason, steps, place } = item
  const isWarned = outcome === 'passed' && reason !== null
  if (outcome !== 'failed' && !isWarned) return []
  const severity = isWarned ? 'warning' : 'error'
  const found = steps.flatMap((step) => {
    if (step.outcome !== outcome || (isWarned && step.reason === null)) return []
    const failed = step.checks.filter(({ passed }) => isWarned || !passed)
    const at = (check?: Check) => codePlace(check?.place ?? step.place, item.place)
    if (failed.length === 0) {
      const message = `${step.title}: ${step.reason ?? 'failed'}`
      return [{ item, severity, message, subject: step.title, fix: null, place: at() } as const]
    }
    return failed.map((check): ReportedFinding => {
      const { subject, hint = null } = check
      return { item, severity, message: checkSentence(step, check), subject, fix: hint, place: at(check) }
    })
  })
  if (found.length > 0) return found
  const message = outcome === 'failed' ? failureSentence(item) : (findReason(item) ?? '')
  return [{ item, severity, message, subject: '', fix: null, place: codePlace(place, place) }]
}

/** Returns the findings that a file of the project accepts, at the lines that accept them. */
function acceptedIn(item: CaseResult): ReportedFinding[] {
  return item.steps.flatMap(({ title, place, accepted, checks }) => {
    if (accepted === undefined) return []
    const subject = String(checks[0]?.expected ?? '')
    return { item, severity: 'warning', message: title, subject, fix: null, place, accepted }
  })
}

/** Returns the first place in a file of the project, or null: built-in suites and stdin are not of it. */
function codePlace(...places: readonly SourceLocation[]): SourceLocation | null {
  return places.find(({ file, line }) => line > 0 && file !== '-' && !file.startsWith('builtin:')) ?? null
}

function toRule({ item, severity: level, fix, message }: ReportedFinding, { target }: RunResult) {
  const topic = item.topic ?? 'qa'
  const base_url = target.kind === 'sandbox' ? target.base_url.replace(/\/+$/, '') : localBaseUrl
  const help = `${fix ?? message} More: svc docs ${topic}`
  return {
    id: item.id,
    shortDescription: { text: caseTitle(item) || item.id },
    help: { text: help, markdown: `${fix ?? message}\n\nMore: \`svc docs ${topic}\`` },
    helpUri: `${base_url}/_sandbox/docs/${topic}`,
    defaultConfiguration: { level },
    ...(item.tags.length > 0 && { properties: { tags: [...new Set(item.tags)] } }),
  }
}

function messageText({ message, fix }: ReportedFinding): string {
  return fix === null ? message : `${message}${/[.?!]$/.test(message) ? '' : '.'} ${fix}`
}

function toNotification(finding: ReportedFinding) {
  const text = `${messageText(finding)} (It has no place in a file of the project.)`
  return { level: finding.severity, message: { text }, associatedRule: { id: finding.item.id } }
}

function toLocation({ line, column }: SourceLocation, uri: string) {
  const artifactLocation = uri.includes(':') ? { uri } : { uri, uriBaseId: '%SRCROOT%' }
  return {
    physicalLocation: { artifactLocation, region: { startLine: line, ...(column > 0 && { startColumn: column }) } },
  }
}

/**
 * Returns a function from what a finding is about to its fingerprint. Lines are no part of it, so that it is the same
 * after an edit above; findings about the same thing differ by their order.
 */
function createFingerprints(): (about: readonly string[]) => string {
  const counts = new Map<string, number>()
  return (about) => {
    const key = JSON.stringify(about)
    const count = (counts.get(key) ?? 0) + 1
    counts.set(key, count)
    return createHash('sha256').update(`${key} ${count}`).digest('hex')
  }
}
