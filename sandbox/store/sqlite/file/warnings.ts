/** Warnings about the rows in force: what an unclean end has damaged or lost, or another program has removed. */
import { DamageWarning } from '../../store.ts'
import { checkFile } from '../file-work.ts'
import type { OpenDatabase } from './open.ts'
import type { Lost, UncleanEnd } from './unclean-end.ts'

interface WarningOptions {
  path: string
  /** Counts how many times the whole state was replaced. */
  generation(): number
  report(error: unknown): void
}

export function fileWarnings({ unclean, isInPlace }: OpenDatabase, { path, generation, report }: WarningOptions) {
  let due = unclean
  let checking: Promise<void> | null = null
  let warnings = lossWarnings(path, unclean?.lost ?? 'no')

  return { list, check, endCheck, reportFile, clear }

  function list(): string[] {
    return isInPlace() ? [...warnings] : [...warnings, removedWarning(path)]
  }

  /** Looks for damage after an unclean end, once. */
  function check(): Promise<void> {
    checking ??= due === null ? Promise.resolve() : checkNow()
    return checking
  }

  async function checkNow(): Promise<void> {
    const checked = generation()
    try {
      const [problem] = await checkFile(path, 'quick_check', 1)
      due = null
      if (problem === undefined || generation() !== checked) return
      const warning = damageWarning(path, problem)
      warnings.push(warning)
      report(new DamageWarning(warning))
    } catch (error) {
      report(error)
    }
  }

  /** Waits for a check under way, and resolves to the unclean end that the next start has to examine. */
  async function endCheck(): Promise<UncleanEnd | null> {
    checking ??= Promise.resolve()
    await checking
    return due
  }

  /** A file that is no longer there explains any failure. */
  function reportFile(error: unknown): void {
    report(isInPlace() ? error : new DamageWarning(removedWarning(path)))
  }

  function clear(): void {
    warnings = []
  }
}

function lossWarnings(path: string, lost: Lost): string[] {
  const log = `${path}-wal, the log of a sandbox that was killed,`
  if (lost === 'yes') return [`${log} was cut or removed: the last of what it had acknowledged is missing`]
  if (lost === 'no') return []
  if (lost === 'alone') {
    return [
      `${path} comes from a sandbox that had not stopped, without the log of that sandbox: what was only in the log is missing. Stop a sandbox before you copy its files, or use: svc sandbox export`,
    ]
  }
  return [`${log} is gone: unless another program copied it, the last of what it had acknowledged is missing`]
}

export function removedWarning(path: string): string {
  return `${path} was removed or replaced while in use: its data is lost when this sandbox stops, unless you export it: svc sandbox export`
}

function damageWarning(path: string, problem: string): string {
  const what = problem.replaceAll(/\s+/g, ' ').replace('*** in database main *** ', '')
  return `${path} is damaged, as found after an unclean end: ${what}. Restore a snapshot, or: svc sandbox reset`
}
