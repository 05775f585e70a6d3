/** The contract of the last release, made of the sources at its tag. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '#foundation/json.ts'
import type { ReleasedContract } from './contract-changes.ts'

const root = join(import.meta.dirname, '../..')

/** Returns the contract of the newest tagged version before one, as its sources describe it; null where no version was released. */
export function readLastRelease(version: string): ReleasedContract | null {
  if (!isRepository()) return null
  const tags = git('tag', '--list', 'v[0-9]*', '--merged', 'HEAD', '--sort=-version:refname').split('\n')
  const tag = tags.find((name) => name !== '' && name !== `v${version}`)
  return tag === undefined ? null : { version: tag.slice(1), document: readContractAt(tag) }
}

/** Returns the OpenAPI document of a commit. The packages are those of this checkout. */
export function readContractAt(commit: string): JsonObject {
  const folder = mkdtempSync(join(tmpdir(), 'svc-contract-'))
  try {
    const sources = execFileSync('git', ['archive', commit, 'package.json', 'src'], { cwd: root, maxBuffer: 1e9 })
    execFileSync('tar', ['-x', '-C', folder], { input: sources })
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    const script = `import { openapiDocument } from '#contract/openapi/document.ts'
      process.stdout.write(JSON.stringify(openapiDocument({ server_url: 'http://127.0.0.1:4010' })))`
    const args = ['--input-type=module', '--eval', script]
    return JSON.parse(execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8', maxBuffer: 1e9 }))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Whether there is a history to read: the sources may have come without one. */
export function isRepository(): boolean {
  return existsSync(join(root, '.git'))
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' })
}
