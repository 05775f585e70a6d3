/**
 * `npm run release -- --dry-run`: every step of a release except publishing. Checks, builds, packs, and makes the
 * binaries and their archives, the checksums, the bill of materials, the notices and the section of the changelog, all
 * in `release/`. The version is only in package.json. Without --dry-run it stops before the first step: a person
 * publishes its output.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { describeChanges, findBreakingChanges, unnamedChanges } from './contract/contract-changes.ts'
import { readLastRelease } from './contract/last-release.ts'
import { billOfMaterials } from './sbom.ts'

const root = join(import.meta.dirname, '..')

/** Every target of build/package.ts. */
const binaryTargets = ['linux-x64', 'linux-arm64', 'darwin-arm64', 'darwin-x64', 'win-x64']

/** The largest download: an archive of a binary, bytes. */
const maxArchiveBytes = 40e6

if (import.meta.main) release()

function release(): void {
  const { values } = parseArgs({
    options: {
      'dry-run': { type: 'boolean' },
      out: { type: 'string', default: 'release' },
      target: { type: 'string', multiple: true },
      'no-checks': { type: 'boolean' },
    },
  })
  if (values['dry-run'] !== true) {
    console.error('npm run release publishes nothing. Add --dry-run, look at release/, then: npm publish release/*.tgz')
    process.exit(2)
  }

  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const out = resolve(values.out)
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })

  const notes = changelogSection(readFileSync(join(root, 'docs/changelog.md'), 'utf8'), version)
  writeFileSync(join(out, 'CHANGELOG.md'), `${notes}\n`)

  if (values['no-checks'] !== true) {
    step('check', 'npm', ['run', 'check'])
    audit()
  }
  step('build', 'npm', ['run', '--silent', 'build'])
  compareContract(version)
  step('pack', 'npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', out])
  cpSync(join(root, 'LICENSE'), join(out, 'LICENSE'))
  for (const target of values.target ?? binaryTargets) {
    step(`binary for ${target}`, process.execPath, ['build/package.ts', '--target', target, '--out', out])
    // Each with its own notices: the runtimes differ.
    for (const binary of globSync(`svc-${version}-${target}{,.exe}`, { cwd: out })) compress(out, binary)
  }
  writeFileSync(join(out, `svc-sandbox-${version}.cdx.json`), `${JSON.stringify(billOfMaterials(root), null, 2)}\n`)
  for (const sum of globSync('*.sha256', { cwd: out })) rmSync(join(out, sum))
  writeFileSync(join(out, 'SHA256SUMS'), sums(out))
  console.log(`\nsvc-sandbox ${version} is in ${out}. Nothing was published.`)
}

/** Fails when the changelog does not name what breaks clients of the last release. */
function compareContract(version: string): void {
  console.log('== contract')
  const last = readLastRelease(version)
  if (last === null) {
    console.log('No earlier version has a tag: there is nothing to compare with.')
    return
  }
  const document = JSON.parse(readFileSync(join(root, 'dist/openapi.json'), 'utf8'))
  const changelog = readFileSync(join(root, 'docs/changelog.md'), 'utf8')
  const unnamed = unnamedChanges(findBreakingChanges(last.document, document), changelog, last.version)
  if (unnamed.length > 0) throw new Error(describeChanges(unnamed))
}

/** Writes `<binary>.tar.xz`, which preserves the executable bit, with the licences of its contents. */
function compress(out: string, binary: string): void {
  const archive = `${binary}.tar.xz`
  step(`archive ${archive}`, 'tar', [
    // Nothing of who packed it, and when.
    ...['--sort=name', `--mtime=@${sourceTime()}`, '--owner=0', '--group=0', '--numeric-owner'],
    '-cJf',
    join(out, archive),
    '-C',
    out,
    binary,
    'LICENSE',
    'THIRD-PARTY-NOTICES.txt',
  ])
  const { size } = statSync(join(out, archive))
  if (size > maxArchiveBytes) throw new Error(`${archive} has ${size} bytes, ${maxArchiveBytes} are allowed.`)
}

/** Returns the time of the sources, seconds: SOURCE_DATE_EPOCH, else that of the last commit; 0 outside of a repository. */
function sourceTime(): string {
  const given = process.env.SOURCE_DATE_EPOCH
  if (given !== undefined && /^\d+$/.test(given)) return given
  const { stdout } = spawnSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' })
  return stdout?.trim() || '0'
}

/**
 * Fails when npm knows a vulnerability in what users install. A registry that does not respond is reported, but is not
 * a failure.
 */
function audit(): void {
  console.log('== audit')
  const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json'], { cwd: root, encoding: 'utf8' })
  const report = JSON.parse(stdout || '{}') as { metadata?: { vulnerabilities: { total: number } } }
  if (report.metadata === undefined) console.log('The registry does not respond to npm audit: nothing is known.')
  const total = report.metadata?.vulnerabilities.total ?? 0
  if (total > 0) throw new Error(`npm audit knows ${total} vulnerabilities in what users install: npm audit --omit=dev`)
}

function step(name: string, command: string, args: readonly string[]): void {
  console.log(`== ${name}`)
  const { status } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
  if (status === 0) return
  console.error(`The step "${name}" failed: ${[command, ...args].join(' ')}`)
  process.exit(1)
}

/** Returns the section of a version. Throws when the changelog has none, or an empty one. */
export function changelogSection(changelog: string, wanted: string): string {
  const section = changelog.split(/^(?=## )/m).find((part) => part.split('\n', 1)[0]?.split(' ')[1] === wanted)
  if (section === undefined || section.trim().split('\n').length < 3)
    throw new Error(`docs/changelog.md has no section for ${wanted}. Write what users will notice, below: ## ${wanted}`)
  return section.trim()
}

/** Returns the SHA-256 sums of all files, in the format of `sha256sum --check`. */
export function sums(directory: string): string {
  const files = globSync('*', { cwd: directory }).filter((file) => existsSync(join(directory, file)))
  return files
    .toSorted()
    .map(
      (file) =>
        `${createHash('sha256')
          .update(readFileSync(join(directory, file)))
          .digest('hex')}  ${basename(file)}\n`,
    )
    .join('')
}
