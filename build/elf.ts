/**
 * Takes the symbols out of a program or library for Linux: 18 to 22 MB of Node that only a debugger reads, as `strip` does.
 * Done here, so that a build needs no tools of the platform, and gives the same file everywhere.
 *
 * Of a 64-bit ELF file the system loads segments. Sections describe what is in it; those without the flag "alloc" are in no
 * segment, and linkers write them last. They are cut off: the table of the other sections and its names follow at the end.
 */

/** Of a header of the file, and of each entry of its two tables. */
const header_bytes = 64
const segment_bytes = 56
const section_bytes = 64
const withoutContent = 8
const stringTable = 3
const alloc = 0x2n
/** `info` of such a section is the index of another one. */
const infoLinks = 0x40n

interface Section {
  entry: Buffer
  name: string
  isKept: boolean
  /** Where its content ends in the file. */
  end: number
}

/** Returns a 64-bit, little-endian program without its symbols. @throws Error when it is no such program */
export function withoutSymbols(program: Buffer): Buffer {
  if (program.toString('latin1', 0, 6) !== '\x7fELF\x02\x01') throw new Error('This is no 64-bit program for Linux.')
  const sections = readSections(program)
  const segments = rows(program, Number(program.readBigUInt64LE(32)), program.readUInt16LE(56), segment_bytes)
  const ends = segments.map((segment) => Number(segment.readBigUInt64LE(8) + segment.readBigUInt64LE(32)))
  const kept = sections.filter(({ isKept }) => isKept)
  const content_end = Math.max(header_bytes + segments.length * segment_bytes, ...ends, ...kept.map(({ end }) => end))

  const names = `\0${[...kept.slice(1).map(({ name }) => name), '.shstrtab'].join('\0')}\0`
  const table = kept.map(({ entry, name }) => {
    const copy = Buffer.from(entry)
    copy.writeUInt32LE(name === '' ? 0 : names.indexOf(`\0${name}\0`) + 1, 0)
    copy.writeUInt32LE(indexAfter(entry.readUInt32LE(40)), 40)
    if ((entry.readBigUInt64LE(8) & infoLinks) !== 0n) copy.writeUInt32LE(indexAfter(entry.readUInt32LE(44)), 44)
    return copy
  })
  const ofNames = Buffer.alloc(section_bytes)
  ofNames.writeUInt32LE(names.indexOf('\0.shstrtab\0') + 1, 0)
  ofNames.writeUInt32LE(stringTable, 4)
  ofNames.writeBigUInt64LE(BigInt(content_end), 24)
  ofNames.writeBigUInt64LE(BigInt(names.length), 32)
  ofNames.writeBigUInt64LE(1n, 48)

  const padding = Buffer.alloc(-(content_end + names.length) & 7)
  const content = Buffer.from(program.subarray(0, content_end))
  content.writeBigUInt64LE(BigInt(content_end + names.length + padding.length), 40)
  content.writeUInt16LE(table.length + 1, 60)
  content.writeUInt16LE(table.length, 62)
  return Buffer.concat([content, Buffer.from(names, 'latin1'), padding, ...table, ofNames])

  /** Returns where a section comes after the others are gone; 0, which is none, for one of those. */
  function indexAfter(index: number): number {
    return Math.max(0, kept.indexOf(sections[index]!))
  }
}

function readSections(program: Buffer): Section[] {
  const entries = rows(program, Number(program.readBigUInt64LE(40)), program.readUInt16LE(60), section_bytes)
  const names = Number(entries[program.readUInt16LE(62)]!.readBigUInt64LE(24))
  return entries.map((entry, index) => {
    const start = names + entry.readUInt32LE(0)
    const isEmpty = entry.readUInt32LE(4) === withoutContent
    return {
      entry,
      name: program.toString('latin1', start, program.indexOf(0, start)),
      // The first entry is null: an index of 0 means none.
      isKept: index === 0 || (entry.readBigUInt64LE(8) & alloc) !== 0n,
      end: isEmpty ? 0 : Number(entry.readBigUInt64LE(24) + entry.readBigUInt64LE(32)),
    }
  })
}

function rows(program: Buffer, start: number, count: number, size: number): Buffer[] {
  return Array.from({ length: count }, (_, index) => program.subarray(start + index * size, start + (index + 1) * size))
}
