/**
 * The strings of consent tools, by the IAB's own libraries: TCF (Europe) and GPP (sections by region). This file is loaded only
 * where there is a string: the libraries are large.
 */
import { GppModel, Sections } from '@iabgpp/cmpapi'
import { TCString } from '@iabtcf/core'
import { escapeCharacter, plainLine, unsafe } from '../unsafe-text.ts'
import { checkSectionRanges, checkVendorRanges } from './ranges.ts'

/** What a stored string says. */
interface DecodedConsentString {
  /** The field that has it: `tcf_string`, `tcf_consent_string`, `gpp_string`. */
  field: string
  standard: 'tcf' | 'gpp'
  /** Why it cannot be decoded; null when it can. */
  problem: string | null
  /** Epoch milliseconds; null where the string does not say. */
  created_at_ms: number | null
  cmp_id: number | null
  /** TCF purposes that are consented to, 1 to 11. */
  purposes: number[]
  /** The number of vendors that are consented to. */
  vendors: number
  /** GPP sections: `tcfeuv2`, `usnat`. */
  sections: string[]
  /** What a section of the United States opts out of: `usnat.SaleOptOut`. */
  opt_outs: string[]
}

const fields = { tcf_string: 'tcf', tcf_consent_string: 'tcf', gpp_string: 'gpp' } as const

/** Returns what the strings among the stored data of a consent say. Never throws. */
export function decodeConsentStrings(extras: Readonly<Record<string, unknown>>): DecodedConsentString[] {
  return Object.entries(fields).flatMap(([field, standard]) => {
    const text = extras[field]
    if (typeof text !== 'string') return []
    const empty: DecodedConsentString = {
      field,
      standard,
      problem: null,
      created_at_ms: null,
      cmp_id: null,
      purposes: [],
      vendors: 0,
      sections: [],
      opt_outs: [],
    }
    try {
      return [{ ...empty, ...(standard === 'tcf' ? decodeTcf(text) : decodeGpp(text)) }]
    } catch (error) {
      return [{ ...empty, problem: describeProblem(standard, text, error) }]
    }
  })
}

function decodeTcf(text: string): Partial<DecodedConsentString> {
  checkVendorRanges(text)
  const { created, cmpId, purposeConsents, vendorConsents } = TCString.decode(text)
  return {
    created_at_ms: created.getTime(),
    cmp_id: Number(cmpId),
    purposes: [...purposeConsents].flatMap(([id, isGiven]) => (isGiven ? [id] : [])),
    vendors: vendorConsents.size,
  }
}

const sectionNames: readonly string[] = Sections.SECTION_ORDER

function decodeGpp(text: string): Partial<DecodedConsentString> {
  // The library takes a TCF string for a GPP string without a header.
  if (!text.startsWith('D')) throw new Error('A GPP string begins with D.')
  checkSectionRanges(text)
  const model = new GppModel(text)
  const sections = sectionNames.filter((name) => model.hasSection(name))
  const tcf = model.hasSection('tcfeuv2') ? decodeTcf(model.encodeSection('tcfeuv2')) : {}
  // Only those of the United States: nobody has counted the ranges of the others.
  const opt_outs = sections
    .filter((section) => section.startsWith('us'))
    .flatMap((section) =>
      Object.entries<unknown>(model.getSection(section)).flatMap(([name, value]) =>
        name.endsWith('OptOut') && value === 1 ? [`${section}.${name}`] : [],
      ),
    )
  return { ...tcf, sections, opt_outs }
}

/** A string of the other standard is the usual mistake. */
function describeProblem(standard: 'tcf' | 'gpp', text: string, error: unknown): string {
  if (text.trim() === '') return 'It is empty.'
  if (standard === 'tcf' && text.startsWith('D')) return 'It is a GPP string: send it as gpp_string.'
  if (standard === 'tcf' && text.startsWith('B')) return 'It is a TCF 1 string, which is no longer valid.'
  if (standard === 'gpp' && /^C[\w-]+(\.[\w-]+)*$/.test(text)) return 'It is a TCF string: send it as tcf_string.'
  const characters = [...new Set(text.replaceAll(/[\w.~-]/g, ''))]
  if (characters.length > 0)
    return `It has characters that no string has: ${characters.slice(0, maxShown).map(shownCharacter).join(' ')}`
  // Where the libraries do not expect the damage, they fail as programs do.
  const isForeseen = error instanceof Error && !(error instanceof TypeError || error instanceof RangeError)
  return `It is cut off or damaged${isForeseen ? `: ${plainLine(error.message)}` : '.'}`
}

const maxShown = 20

function shownCharacter(character: string): string {
  return character.replace(/\s/u, escapeCharacter).replace(unsafe, escapeCharacter)
}

/** A choice in a consent tool. */
interface ConsentChoice {
  /** The TCF purposes that are consented to. */
  purposes: readonly number[]
  /** The vendors that are consented to. */
  vendors: readonly number[]
  /** Epoch milliseconds. */
  now_ms: number
}

/** The id of a consent tool that belongs to no vendor's list of them: strings made here are for tests. */
const testCmp_id = 4_095

/** Returns the TCF and GPP strings that a consent tool would make of a choice. */
export function encodeConsentStrings({ purposes, vendors, now_ms }: ConsentChoice): { tcf: string; gpp: string } {
  const model = new GppModel()
  const set = (name: string, value: unknown) => model.setFieldValue('tcfeuv2', name, value)
  const day = new Date(Math.floor(now_ms / 86_400_000) * 86_400_000)
  set('CmpId', testCmp_id)
  set('CmpVersion', 1)
  set('ConsentLanguage', 'EN')
  set('PublisherCountryCode', 'DE')
  set('VendorListVersion', 1)
  set(
    'PurposeConsents',
    Array.from({ length: 24 }, (_, index) => purposes.includes(index + 1)),
  )
  set('VendorConsents', [...vendors])
  set('Created', day)
  set('LastUpdated', day)
  return { tcf: model.encodeSection('tcfeuv2'), gpp: model.encode() }
}
