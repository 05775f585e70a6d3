import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { withoutSymbols } from '../../build/elf.ts'
import { temporaryDirectory } from '../temporary.ts'
import { checkout } from './unpack.ts'

const addonOf = (target: string) => readFileSync(join(checkout, `node_modules/better-sqlite3/prebuilds/${target}.node`))

test.each(['linux-x64', 'linux-arm64'])('a library for %s loses its symbols and nothing that is loaded', (target) => {
  const library = addonOf(target)
  const stripped = withoutSymbols(library)
  expect(library.length - stripped.length).toBeGreaterThan(100_000)
  expect(namesOf(library)).toEqual(expect.arrayContaining(['.symtab', '.strtab', '.comment']))
  const rest = namesOf(library).filter((name) => !['.symtab', '.strtab', '.comment'].includes(name))
  expect(namesOf(stripped)).toEqual(rest)
  // All but the place and the length of the table of sections, in the header.
  const end = contentEnd(library)
  expect(stripped.subarray(64, end).equals(library.subarray(64, end))).toBe(true)
  expect(stripped.subarray(0, 40).equals(library.subarray(0, 40))).toBe(true)
  expect(withoutSymbols(stripped).equals(stripped)).toBe(true)
})

test('the database opens with a library that has none', () => {
  const nativeBinding = join(temporaryDirectory(), 'database.node')
  writeFileSync(nativeBinding, withoutSymbols(addonOf(`linux-${process.arch}`)))
  const script = `const Database = require('better-sqlite3')
const database = new Database(':memory:', { nativeBinding: ${JSON.stringify(nativeBinding)} })
console.log(database.prepare('SELECT 1 + 1').pluck().get())`
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', script], { cwd: checkout, encoding: 'utf8' })
  expect([stdout, stderr]).toEqual(['2\n', ''])
})

test('what is no program for Linux is refused', () => {
  expect(() => withoutSymbols(addonOf('win32-x64'))).toThrow('This is no 64-bit program for Linux.')
})

/** Returns the names of the sections, in the order of their table. */
function namesOf(file: Buffer): string[] {
  const [start, count, names] = [Number(file.readBigUInt64LE(40)), file.readUInt16LE(60), file.readUInt16LE(62)]
  const at = (index: number) => file.subarray(start + index * 64)
  const strings = Number(at(names).readBigUInt64LE(24))
  return Array.from({ length: count }, (_, index) => {
    const name = strings + at(index).readUInt32LE(0)
    return file.toString('latin1', name, file.indexOf(0, name))
  })
}

/** Returns where the last segment ends in the file. */
function contentEnd(file: Buffer): number {
  const start = Number(file.readBigUInt64LE(32))
  const ends = Array.from({ length: file.readUInt16LE(56) }, (_, index) => {
    const segment = file.subarray(start + index * 56)
    return Number(segment.readBigUInt64LE(8) + segment.readBigUInt64LE(32))
  })
  return Math.max(...ends)
}
