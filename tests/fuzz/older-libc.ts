/**
 * The fuzzer's addon for Linux is built for glibc 2.38 and GCC 13. Debian 12 has 2.36: of what is newer the addon calls three
 * functions, which a library of ten lines can have. Its need of the newer versions becomes a wish, by the flag that ELF has for it
 * (`VER_FLG_WEAK`), and the library is loaded before it.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const newer = /^(?:GLIBC_2\.38|GLIBCXX_3\.4\.32)$/
/** Of a section in which a file says which versions of its libraries it needs. */
const verneed = 0x6ffffffe
const weak = 2

/** Returns the variables of a process that loads the addon in `folder`. @throws Error that says what is missing */
export function loadableOnOlderLibc(folder: string): Record<string, string> {
  if (process.platform !== 'linux' || !isOlder()) return {}
  const library = join(folder, 'older-libc.so')
  if (!existsSync(library)) {
    const addon = join(folder, `node_modules/@jazzer.js/fuzzer/prebuilds/fuzzer-linux-${process.arch}.node`)
    const next = `${library}.${process.pid}`
    const bytes = readFileSync(addon)
    weaken(bytes)
    writeFileSync(`${addon}.${process.pid}`, bytes)
    renameSync(`${addon}.${process.pid}`, addon)
    compile(next)
    renameSync(next, library)
  }
  return { LD_PRELOAD: library }
}

function isOlder(): boolean {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
  const [major = 0, minor = 0] = (header.glibcVersionRuntime ?? '9.0').split('.').map(Number)
  return major === 2 && minor < 38
}

function compile(library: string): void {
  try {
    execFileSync('g++', ['-shared', '-fPIC', '-O1', '-o', library, join(import.meta.dirname, 'older-libc.cpp')])
  } catch (error) {
    throw new Error('The fuzzer needs glibc 2.38 (Debian 13, Ubuntu 24.04), or g++: apt-get install g++', {
      cause: error,
    })
  }
}

/** Marks the newer versions that a file of 64 bits needs as ones that it can do without. */
function weaken(elf: Buffer): void {
  const sections = Number(elf.readBigUInt64LE(40))
  for (let index = 0; index < elf.readUInt16LE(60); index++) {
    const section = sections + 64 * index
    if (elf.readUInt32LE(section + 4) !== verneed) continue
    const names = Number(elf.readBigUInt64LE(sections + 64 * elf.readUInt32LE(section + 40) + 24))
    let need = Number(elf.readBigUInt64LE(section + 24))
    for (let next = -1; next !== 0; need += next) {
      weakenNeed(elf, need, names)
      next = elf.readUInt32LE(need + 12)
    }
  }
}

/** Of one library. */
function weakenNeed(elf: Buffer, need: number, names: number): void {
  let version = need + elf.readUInt32LE(need + 8)
  for (let left = elf.readUInt16LE(need + 2); left > 0; left--) {
    const name = names + elf.readUInt32LE(version + 8)
    if (newer.test(elf.toString('latin1', name, elf.indexOf(0, name))))
      elf.writeUInt16LE(elf.readUInt16LE(version + 4) | weak, version + 4)
    version += elf.readUInt32LE(version + 12)
  }
}
