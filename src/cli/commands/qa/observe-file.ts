/** `svc.observe.yaml` of the working directory or above, for the four commands that apply it. */
import { existsSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import type { CommandContext } from '#cli/run/command.ts'
import { unwritable } from '#cli/run/file-errors.ts'
import { readUserText } from '#cli/run/user-file.ts'
import { findProjectFile } from '#cli/settings/files.ts'
import type { Verdict, Watched } from '#diagnosis/observe.ts'
import type { Applied } from '#diagnosis/observe-file/apply.ts'
import type { ObserveFile } from '#diagnosis/observe-file/observe-file.ts'
import { replaceFile } from '#foundation/file-system.ts'
import { CliError } from '#text/cli-error.ts'
import type { Style } from '#text/terminal.ts'
import { suiteFailure } from './suites.ts'

export const observeFileName = 'svc.observe.yaml'
/** The JSON schema of the file, relative to a project that has this package installed. */
const schemaInProject = './node_modules/svc-sandbox/fixtures/svc.observe.schema.json'

/** Returns the ids of all rules that the file may name, with their suites. */
export async function observeFileRules(): Promise<string[]> {
  const [{ observeRules }, { beaconFileRules }, { beaconSlotRules, fileTurnRules }, { conditions }, { v1 }] =
    await Promise.all([
      import('#diagnosis/rules/index.ts'),
      import('#diagnosis/rules/beacons/file.ts'),
      import('#diagnosis/rules/beacon-slots.ts'),
      import('#hosts/conditions.ts'),
      import('#contract/index.ts'),
    ])
  return Object.entries({
    observe: Object.keys(observeRules),
    hosts: conditions.map(({ name }) => name),
    'beacons-lint': Object.keys({ ...beaconFileRules, ...beaconSlotRules, ...fileTurnRules }),
    'contract-check': Object.keys(v1),
  }).flatMap(([suite, ids]) => ids.map((id) => `${suite}/${id}`))
}

/** Resolves to the file of the project, or null without one. Throws CliError with everything that is wrong in it. */
export async function loadProjectFile({ system }: Pick<CommandContext, 'system'>): Promise<ObserveFile | null> {
  const path = findProjectFile(system, observeFileName)
  if (path === null) return null
  return readProjectFile(await readUserText(system, path), shownPath(path, system.cwd))
}

async function readProjectFile(text: string, name: string): Promise<ObserveFile> {
  const { loadObserveFile } = await import('#diagnosis/observe-file/observe-file.ts')
  try {
    return loadObserveFile(text, name, await observeFileRules())
  } catch (error) {
    throw await suiteFailure(error, `For an example of ${observeFileName}: svc docs qa-observe`)
  }
}

/** Relative to the working directory, as a user would write it. */
function shownPath(path: string, cwd: string): string {
  return relative(cwd, path).split(sep).join('/')
}

/** Throws CliError when the first file would replace another. */
export function requireReplaceable(file: ObserveFile | null, isForced: boolean): void {
  if (file === null || isForced) return
  const message = `There is ${file.path} already.`
  throw new CliError('usage', 'file_exists', message, 'To replace it, with its reasons and days kept: --force')
}

interface Current {
  verdicts: readonly Verdict[]
  watched: Watched
  earlier: ObserveFile | null
  now_ms: number
}

/** Writes the file of `--accept-current`, here or in place of the one that is used. Resolves to what it contains. */
export async function writeProjectFile(
  { system, out }: CommandContext,
  { verdicts, watched, earlier, now_ms }: Current,
): Promise<ObserveFile> {
  const { writeCurrent } = await import('#diagnosis/observe-file/verdicts.ts')
  const path = findProjectFile(system, observeFileName) ?? join(system.cwd, observeFileName)
  const schema = existsSync(join(dirname(path), schemaInProject)) ? schemaInProject : null
  const { text, accepted } = writeCurrent(verdicts, watched, { earlier, now_ms, schema })
  const name = shownPath(path, system.cwd)
  try {
    replaceFile(path, text, { file: 0o644 })
  } catch (error) {
    throw unwritable(path, error, 'Check the directory, its permissions and the free space.')
  }
  out.note(`wrote ${name}: it accepts ${accepted === 1 ? '1 finding' : `${accepted} findings`}. Say why for each.`)
  return readProjectFile(text, name)
}

/** What a command adds to its own output: lines about the file, and a field of its JSON. Nothing without a file. */
export async function reportApplied(
  applied: Applied<unknown>,
): Promise<{ field: object; lines(style: Style): string[]; note: string | null; isFailed: boolean }> {
  const [{ describeApplied }, { lintLines }, { appliedText }] = await Promise.all([
    import('#diagnosis/observe-file/apply.ts'),
    import('#diagnosis/lint.ts'),
    import('#qa/report/text.ts'),
  ])
  const { file, findings } = applied
  const used = describeApplied(applied)
  return {
    field: used === undefined ? {} : { observe_file: { ...used, findings } },
    lines: (style) => lintLines(file?.path ?? '', findings, style),
    note: used === undefined ? null : appliedText(used),
    isFailed: findings.length > 0,
  }
}
