/** TCF and GPP strings of consent tools. */
import { decodeConsentStrings } from '#foundation/consent/strings.ts'
import { check, checkPlainLine, checkSame, type FuzzTarget } from '../target.ts'

export const target: FuzzTarget = {
  max_bytes: 600,
  words: [
    'DBABMA~',
    'DBACNY~',
    'DBABTA~',
    '~1YN',
    'CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA',
    '.YAAAAAAAAAA',
    '~BVQqAAAAAgA.QA',
  ],
  run(bytes) {
    const text = bytes.toString('latin1')
    const read = decodeConsentStrings({ tcf_string: text, tcf_consent_string: text, gpp_string: text })
    check(read.length === 3, 'a string was not decoded')
    for (const { problem, created_at_ms, cmp_id, purposes, vendors, opt_outs, sections } of read) {
      if (problem !== null) {
        checkPlainLine(problem)
        continue
      }
      check(created_at_ms === null || Number.isSafeInteger(created_at_ms), `the time is ${created_at_ms}`)
      check(cmp_id === null || (Number.isInteger(cmp_id) && cmp_id >= 0 && cmp_id < 4_096), `the tool is ${cmp_id}`)
      check(
        purposes.every((id) => Number.isInteger(id) && id >= 1 && id <= 24),
        `the purposes are ${purposes}`,
      )
      check(Number.isInteger(vendors) && vendors >= 0 && vendors <= 65_535, `the vendors are ${vendors}`)
      check(opt_outs.length === 0 || sections.length > 0, 'there is an opt-out without a section')
    }
    const [tcf] = read
    if (tcf!.problem === null) checkCore(text, tcf!)
  },
}

/** Reads the fixed fields of a TCF 2 core string by their places in the specification. */
function checkCore(text: string, tcf: ReturnType<typeof decodeConsentStrings>[number]): void {
  const bits = [...Buffer.from(text.split('.')[0]!, 'base64url')]
    .map((byte) => byte.toString(2).padStart(8, '0'))
    .join('')
  const integer = (at: number, length: number) => Number.parseInt(bits.slice(at, at + length), 2)
  if (bits.length < 213 || integer(0, 6) !== 2) return
  checkSame(tcf.created_at_ms, integer(6, 36) * 100, 'the time')
  checkSame(tcf.cmp_id, integer(78, 12), 'the tool')
  const purposes = [...bits.slice(152, 176)].flatMap((bit, index) => (bit === '1' ? [index + 1] : []))
  checkSame(tcf.purposes, purposes, 'the purposes')
}
