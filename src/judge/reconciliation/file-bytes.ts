/**
 * The text of a file of counts: UTF-8, UTF-16 with or without a byte order mark, or Windows-1252, which spreadsheets of
 * Windows write as "CSV". Only what browsers have is used.
 */
import { OwnFileError } from './own-file-error.ts'

export interface DecodedFile {
  text: string
  /** How it was read. */
  encoding: 'UTF-8' | 'UTF-16' | 'Windows-1252'
}

/** Files that are no text, by their first bytes. */
const binaryKinds: readonly (readonly [bytes: readonly number[], message: string, hint: string])[] = [
  [
    [0x50, 0x4b, 3, 4],
    'It is an Excel workbook (.xlsx) or another ZIP archive.',
    'Save its sheet as CSV, or unpack the archive.',
  ],
  [[0xd0, 0xcf, 0x11, 0xe0], 'It is an Excel workbook (.xls).', 'Save its sheet as CSV.'],
  [[0x1f, 0x8b], 'It is compressed with gzip.', 'Unpack it, and give the file that is inside.'],
  [[0x28, 0xb5, 0x2f, 0xfd], 'It is compressed with Zstandard.', 'Unpack it, and give the file that is inside.'],
  [[0x42, 0x5a, 0x68], 'It is compressed with bzip2.', 'Unpack it, and give the file that is inside.'],
  [[0x50, 0x41, 0x52, 0x31], 'It is a Parquet file.', 'Export it as CSV or JSON lines.'],
  [[0x25, 0x50, 0x44, 0x46], 'It is a PDF document.', 'Export the report as CSV.'],
]

/** Returns the text of a file. @throws OwnFileError for a workbook, an archive and any file that is not text */
export function decodeOwnFile(bytes: Uint8Array): DecodedFile {
  for (const [start, message, hint] of binaryKinds) {
    if (start.every((byte, index) => bytes[index] === byte)) throw new OwnFileError(message, hint)
  }
  const utf16 = findUtf16(bytes)
  if (utf16 !== null) {
    const text = new TextDecoder(utf16).decode(bytes)
    if (!text.includes('\0')) return { text, encoding: 'UTF-16' }
    throw notText()
  }
  const isUtf8 = bytes.includes(0) ? null : decodeUtf8(bytes)
  if (isUtf8 !== null) return { text: isUtf8, encoding: 'UTF-8' }
  const text = new TextDecoder('windows-1252').decode(bytes)
  // Text has none of the control characters, nor of those that are none here; pictures, archives and text of East Asia do.
  if (/[\0-\x08\x0e-\x1a\x1c-\x1f\x7f\x81\x8d\x8f\x90\x9d]/.test(text)) throw notText()
  return { text, encoding: 'Windows-1252' }
}

function notText(): OwnFileError {
  return new OwnFileError('It is not text in UTF-8, UTF-16 or Windows-1252.', 'Save it as CSV in UTF-8.')
}

function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return null
  }
}

/** A text of Latin letters has a zero in every second byte. */
const sampledBytes = 1_000

function findUtf16(bytes: Uint8Array): 'utf-16le' | 'utf-16be' | null {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  if (bytes.length % 2 === 1) return null
  const sample = bytes.subarray(0, sampledBytes)
  const zeros = [0, 0]
  for (const [index, byte] of sample.entries()) if (byte === 0) zeros[index % 2]!++
  const [even = 0, odd = 0] = zeros
  if (odd > sample.length / 4 && even === 0) return 'utf-16le'
  return even > sample.length / 4 && odd === 0 ? 'utf-16be' : null
}
