import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { signAdHoc } from '#build/mach-o.ts'

test('a program for macOS is signed: each of its pages is hashed, and the load command names the signature', () => {
  const program = machO({ room: 16 })
  const signed = signAdHoc(program, 'svc')

  expect(signed.readUInt32LE(16)).toBe(3)
  const command = 32 + program.readUInt32LE(20)
  const [kind, size, start, length] = [0, 4, 8, 12].map((offset) => signed.readUInt32LE(command + offset))
  expect([kind, size, start, start! + length!]).toEqual([0x1d, 16, 9008, signed.length])
  // The last segment reaches to the end of the file.
  expect(Number(signed.readBigUInt64LE(32 + 152 + 48))).toBe(signed.length - 8192)

  const directory = signed.subarray(start! + 20)
  expect(directory.toString('latin1', 88, 91)).toBe('svc')
  const hashes = directory.readUInt32BE(16)
  expect([directory.readUInt32BE(12), directory.readUInt32BE(28), directory.readUInt32BE(32)]).toEqual([2, 3, 9008])
  for (const page of [0, 1, 2]) {
    const content = signed.subarray(page * 4096, Math.min((page + 1) * 4096, 9008))
    const hash = directory.subarray(hashes + page * 32, hashes + (page + 1) * 32)
    expect(hash.equals(createHash('sha256').update(content).digest())).toBe(true)
  }
})

test('a signed program and one without room for the load command are refused', () => {
  expect(() => signAdHoc(signAdHoc(machO({ room: 32 }), 'svc'), 'svc')).toThrow('is signed already')
  expect(() => signAdHoc(machO({ room: 8 }), 'svc')).toThrow('no room for the load command')
})

/** Returns a program of 9,000 bytes: a text segment with one section after the load commands, and the link edit segment. */
function machO({ room }: { room: number }): Buffer {
  const program = Buffer.alloc(9000, 7)
  program.fill(0, 0, 32 + 152 + 72 + room)
  program.writeUInt32LE(0xfeedfacf, 0)
  program.writeUInt32LE(2, 16)
  program.writeUInt32LE(152 + 72, 20)
  segment(32, '__TEXT', { start: 0, size: 8192, sections: 1 })
  program.writeUInt32LE(32 + 152 + 72 + room, 32 + 72 + 48)
  segment(32 + 152, '__LINKEDIT', { start: 8192, size: 808, sections: 0 })
  return program

  function segment(at: number, name: string, of: { start: number; size: number; sections: number }): void {
    program.writeUInt32LE(0x19, at)
    program.writeUInt32LE(72 + of.sections * 80, at + 4)
    program.write(name, at + 8, 'latin1')
    program.writeBigUInt64LE(BigInt(of.start), at + 40)
    program.writeBigUInt64LE(BigInt(of.size), at + 48)
    program.writeUInt32LE(of.sections, at + 64)
  }
}
