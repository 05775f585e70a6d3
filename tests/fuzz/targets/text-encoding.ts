/** The text of files: UTF-8, UTF-16. */
import { isUtf8 } from 'node:buffer'
import { decodeText, EncodingError } from '#foundation/encoding.ts'
import { check, checkLine, type FuzzTarget } from '../target.ts'

export const target: FuzzTarget = {
  max_bytes: 200,
  run(bytes) {
    const isUtf16 = bytes.length >= 2 && ['fffe', 'feff'].includes(bytes.toString('hex', 0, 2))
    try {
      const text = decodeText(bytes)
      if (isUtf16) check(sameUtf16(text, bytes), 'UTF-16 was read as another text')
      else check(Buffer.from(text).equals(withoutMark(bytes)), 'UTF-8 was read as another text')
    } catch (error) {
      if (!(error instanceof EncodingError)) throw error
      checkLine(error.message)
      check(error.offset >= 0 && error.offset <= bytes.length, `byte ${error.offset} is outside of the file`)
      // Past the end: the last character is cut off.
      if (isUtf16 || error.offset === bytes.length) return
      const before = bytes.subarray(0, error.offset)
      check(isUtf8(before), `bytes before ${error.offset} are wrong already`)
      check(error.line === before.toString('utf8').split('\n').length, `line ${error.line} is not that of the byte`)
    }
  },
}

function withoutMark(bytes: Buffer): Buffer {
  return bytes.toString('hex', 0, 3) === 'efbbbf' ? bytes.subarray(3) : bytes
}

function sameUtf16(text: string, bytes: Buffer): boolean {
  const units = Buffer.from(text, 'utf16le')
  return (bytes[0] === 0xff ? units : units.swap16()).equals(bytes.subarray(2))
}
