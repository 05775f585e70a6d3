/** Packs the package of this program as npm does, for a project that depends on it. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

const block = 512
/** Files that npm packs although the manifest does not list them. */
const always = ['README.md', 'LICENSE']
/** 1985-10-26T08:15:00Z in seconds, which npm gives every file of a package so that archives can be compared. */
const modifiedSeconds = 499_162_500

/**
 * Returns the archive of the package in `root`, like `npm pack`: the files that its manifest names (`files`), under
 * `package/`, as a gzipped tar archive. It does not need npm, the network or a checkout, and the same files give the
 * same bytes. Hidden files, except the templates' .env.example, and `node_modules` are left out.
 */
export async function packPackage(root: string, files: readonly string[]): Promise<Uint8Array> {
  const parts = listFiles(root, files).flatMap((path) => {
    const content = readFileSync(join(root, path))
    return [header(`package/${path}`, content.length, path.startsWith('bin/') ? 0o755 : 0o644), padded(content)]
  })
  return promisify(gzip)(Buffer.concat([...parts, Buffer.alloc(2 * block)]))
}

function listFiles(root: string, files: readonly string[]): string[] {
  const left_out = files.filter((path) => path.startsWith('!')).map((path) => path.slice(1))
  const inside = [...files, ...always].flatMap((path) => filesAt(root, path))
  return ['package.json', ...inside.filter((path) => !left_out.some((out) => path.startsWith(`${out}/`))).toSorted()]
}

/** Returns the file at this path, or the files below it. */
function filesAt(root: string, path: string): string[] {
  const info = statSync(join(root, path), { throwIfNoEntry: false })
  if (info === undefined) return []
  if (!info.isDirectory()) return [path]
  return readdirSync(join(root, path))
    .filter(isShipped)
    .flatMap((name) => filesAt(root, `${path}/${name}`))
}

function isShipped(name: string): boolean {
  return name !== 'node_modules' && (!name.startsWith('.') || name === '.env.example')
}

/** Returns the header of a file in the ustar format of POSIX.1-1988. */
function header(path: string, size: number, mode: number): Buffer {
  const { name, prefix } = splitPath(path)
  const bytes = Buffer.alloc(block)
  bytes.write(name, 0)
  bytes.write(octal(mode, 8), 100)
  bytes.write(octal(0, 8), 108)
  bytes.write(octal(0, 8), 116)
  bytes.write(octal(size, 12), 124)
  bytes.write(octal(modifiedSeconds, 12), 136)
  bytes.write('        ', 148)
  bytes.write('0', 156)
  bytes.write('ustar\u000000', 257)
  bytes.write(prefix, 345)
  const sum = bytes.reduce((total, byte) => total + byte, 0)
  bytes.write(`${octal(sum, 7)} `, 148)
  return bytes
}

/** Returns a number in octal digits with a final null, `length` bytes in total. */
function octal(value: number, length: number): string {
  return `${value.toString(8).padStart(length - 1, '0')}\u0000`
}

/** Splits a path of more than 100 bytes at a slash, as the format requires. */
function splitPath(path: string): { name: string; prefix: string } {
  if (Buffer.byteLength(path) <= 100) return { name: path, prefix: '' }
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
    const prefix = path.slice(0, at)
    const name = path.slice(at + 1)
    if (Buffer.byteLength(name) <= 100 && Buffer.byteLength(prefix) <= 155) return { name, prefix }
  }
  throw new Error(`${path} is too long for an archive.`)
}

function padded(content: Buffer): Buffer {
  return Buffer.concat([content, Buffer.alloc((block - (content.length % block)) % block)])
}
