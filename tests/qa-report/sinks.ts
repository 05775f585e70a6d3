/** Streams and files of a test, for reporters. */
import type { EarlierRun } from '#qa/report/changes.ts'
import { plain, type ReportTools, type Sink } from '#qa/report/text.ts'
import type { Reporter, RunResult } from '#qa/result.ts'

export interface TestTools extends ReportTools {
  out: () => string
  err: () => string
  files: Map<string, string>
  /** Lets time pass. */
  pass(ms: number): void
}

export function testTools(
  given: { is_terminal?: boolean; columns?: number; quiet?: boolean; earlier?: EarlierRun } = {},
): TestTools {
  const texts = { out: '', err: '' }
  const files = new Map<string, string>()
  let now_ms = 0
  const sink = (name: 'out' | 'err'): Sink => ({
    is_terminal: given.is_terminal ?? false,
    columns: given.is_terminal ? (given.columns ?? 80) : undefined,
    paint: plain,
    write: (text) => {
      texts[name] += text
    },
  })
  return {
    stdout: sink('out'),
    progress: sink('err'),
    quiet: given.quiet ?? false,
    now: () => now_ms,
    writeFile: async (path, content) => void files.set(path, content),
    sourceUri: (file) => file,
    earlier: given.earlier ?? null,
    out: () => texts.out,
    err: () => texts.err,
    files,
    pass: (ms) => {
      now_ms += ms
    },
  }
}

/** Passes a whole run to a reporter, case after case. */
export async function reportRun(reporter: Reporter, result: RunResult, withSuites = true): Promise<void> {
  const suites = [...Map.groupBy(result.cases, ({ suite }) => suite)].map(([name, { length }]) => ({
    name,
    cases: length,
  }))
  await reporter.start?.({
    target: result.target,
    cases: result.cases.length,
    ...(withSuites && { suites }),
    svc_version: result.svc_version,
    started_at_ms: result.started_at_ms,
  })
  for (const item of result.cases) {
    await reporter.begin?.(item)
    await reporter.case?.(item)
  }
  await reporter.end?.(result)
}
