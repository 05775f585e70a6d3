/**
 * The ad-hoc signature of a program for macOS, as made there by `codesign --sign -`: macOS on arm64 kills an unsigned
 * program when it starts. pkg removes the signature of Node and can only sign where Apple's tools are available.
 *
 * It is a load command that names a block at the end of the file: a list with one entry, the code directory, which
 * holds the SHA-256 of each page of 4 kB. Numbers in Mach-O are little-endian, in the signature big-endian.
 */
import { createHash } from 'node:crypto'

const pageBytes = 4096
const headerBytes = 32
const segmentCommand = 0x19
const signatureCommand = 0x1d
/** The code directory without its identifier and its hashes. */
const directoryBytes = 88
/** The list, and its one entry. */
const listBytes = 20

interface Segment {
  /** Where its load command begins. */
  command: number
  name: string
  start: number
  size: number
  /** Where its first section with content begins. */
  content: number
}

/** Returns a 64-bit program with an ad-hoc signature. @throws Error when it has one, or no room for the load command */
export function signAdHoc(program: Buffer, identifier: string): Buffer {
  const command_count = program.readUInt32LE(16)
  const commands_end = headerBytes + program.readUInt32LE(20)
  const segments = readSegments(program, command_count)
  const text = segments.find(({ name }) => name === '__TEXT')!
  const linkEdit = segments.find(({ name }) => name === '__LINKEDIT')!
  if (commands_end + 16 > text.content) throw new Error('The program has no room for the load command of a signature.')

  const code_bytes = aligned(program.length, 16)
  const page_count = Math.ceil(code_bytes / pageBytes)
  const hashes_start = directoryBytes + identifier.length + 1
  const signature = Buffer.alloc(aligned(listBytes + hashes_start + page_count * 32, 16))
  const signed = Buffer.concat([program, Buffer.alloc(code_bytes - program.length), signature])

  signed.writeUInt32LE(command_count + 1, 16)
  signed.writeUInt32LE(commands_end + 16 - headerBytes, 20)
  for (const [index, value] of [signatureCommand, 16, code_bytes, signature.length].entries())
    signed.writeUInt32LE(value, commands_end + 4 * index)
  const link_edit_bytes = BigInt(signed.length - linkEdit.start)
  signed.writeBigUInt64LE(BigInt(aligned(Number(link_edit_bytes), 0x4000)), linkEdit.command + 32)
  signed.writeBigUInt64LE(link_edit_bytes, linkEdit.command + 48)

  const directory = signed.subarray(code_bytes + listBytes)
  const directory_size = hashes_start + page_count * 32
  for (const [index, value] of [0xfade0cc0, listBytes + directory_size, 1, 0, listBytes].entries())
    signed.writeUInt32BE(value, code_bytes + 4 * index)
  // Version 2.4, which names the executable segment; the flag of an ad-hoc signature; no special slots.
  const fields = [0xfade0c02, directory_size, 0x20400, 2, hashes_start, directoryBytes, 0, page_count, code_bytes]
  for (const [index, value] of fields.entries()) directory.writeUInt32BE(value, 4 * index)
  // Hashes of 32 bytes, SHA-256, no platform, pages of 2 to the power of 12 bytes.
  directory.set([32, 2, 0, 12], 36)
  directory.writeBigUInt64BE(BigInt(text.start), 64)
  directory.writeBigUInt64BE(BigInt(text.size), 72)
  directory.writeBigUInt64BE(1n, 80)
  directory.write(identifier, directoryBytes, 'latin1')
  for (let page = 0; page < page_count; page++) {
    const content = signed.subarray(page * pageBytes, Math.min((page + 1) * pageBytes, code_bytes))
    createHash('sha256')
      .update(content)
      .digest()
      .copy(directory, hashes_start + page * 32)
  }
  return signed
}

function readSegments(program: Buffer, count: number): Segment[] {
  const segments: Segment[] = []
  let command = headerBytes
  for (let index = 0; index < count; index++) {
    const kind = program.readUInt32LE(command)
    if (kind === signatureCommand) throw new Error('The program is signed already.')
    if (kind === segmentCommand) {
      const sections = Array.from({ length: program.readUInt32LE(command + 64) }, (_, section) =>
        program.readUInt32LE(command + 72 + section * 80 + 48),
      )
      segments.push({
        command,
        name: program.toString('latin1', command + 8, command + 24).replace(/\0+$/, ''),
        start: Number(program.readBigUInt64LE(command + 40)),
        size: Number(program.readBigUInt64LE(command + 48)),
        content: Math.min(...sections.filter((offset) => offset > 0)),
      })
    }
    command += program.readUInt32LE(command + 4)
  }
  return segments
}

function aligned(bytes: number, unit: number): number {
  return Math.ceil(bytes / unit) * unit
}
