/**
 * What the pages of docs/codes know from the contract and the rules: the codes of each group, the paragraph that every
 * page begins with, and an example of the response. What else a page says is written by hand, below that paragraph.
 */

import { agentFileRules, machineRules, sandboxRules } from '#cli/doctor/rules.ts'
import { acceptMeanings, errorCodes, reasonCodes } from '#contract/error-codes.ts'
import { ApiError, type ReasonCode } from '#contract/errors.ts'
import { isRetryable, type NoFillReason, noFillReasons } from '#contract/no-fill.ts'
import { warnings } from '#contract/warnings.ts'
import type { RuleText } from '#diagnosis/rule.ts'
import { beaconSlotRules, fileTurnRules } from '#diagnosis/rules/beacon-slots.ts'
import { beaconFileRules } from '#diagnosis/rules/beacons/file.ts'
import { allPageRules, journalRules } from '#diagnosis/rules/index.ts'

/** The paragraphs that are generated, by code, in the order of the pages. */
export type Heads = Readonly<Record<string, string>>

function listHeads(group: string, renderer: string): Heads {
  return groups[group]?.(renderer) ?? {}
}

/** The groups by topic. `renderer` is the text of docs/renderer.md, whose tables are the source of the codes of render.js. */
const groups: Readonly<Record<string, (renderer: string) => Heads>> = {
  errors: errorHeads,
  'no-fill': noFillHeads,
  beacons: beaconHeads,
  warnings: warningHeads,
  'render-js': renderHeads,
  rules: ruleHeads,
}

export const groupNames = Object.keys(groups)

/** Writes a group again: its introduction and the texts below the generated paragraphs are kept. */
export function writeGroup(group: string, text: string, renderer: string): string {
  const [introduction = '', ...parts] = text.split(/^## /m)
  const bodies = new Map(parts.map((part) => [part.split('\n', 1)[0]!, handwrittenPart(part)]))
  const sections = Object.entries(listHeads(group, renderer)).map(([code, head]) => {
    const body = bodies.get(code) ?? ''
    return `## ${code}\n\n> ${head}\n${body === '' ? '' : `\n${body}\n`}`
  })
  return `${introduction.trimEnd()}\n\n${sections.join('\n')}`
}

/** Returns what is written by hand below the heading and the generated paragraph. */
export function handwrittenPart(part: string): string {
  return part
    .replace(/^.*\n/, '')
    .replace(/^\n*(?:>.*\n)*/, '')
    .trim()
}

function errorHeads(): Heads {
  return Object.fromEntries(
    Object.entries(reasonCodes).map(([code, { error, message, hint }]) => {
      const { status, retryable } = errorCodes[error]
      return [code, `**${status} \`${error}\`.** ${message} ${hint}\n>\n> ${retryText(status, retryable)}`]
    }),
  )
}

function retryText(status: number, isRetryable: boolean): string {
  if (!isRetryable) return 'Sent again unchanged, the request fails again.'
  if (status === 500) return 'Retry at most three times, with growing pauses.'
  return 'Send it again after the seconds of `Retry-After`.'
}

function noFillHeads(): Heads {
  return Object.fromEntries(
    Object.entries(noFillReasons).map(([code, { meaning, origin, nbr, retry }]) => [
      code,
      `**No fill, \`${origin}\`.** ${meaning} ${retryWords[retry]}\n>\n> OpenRTB no-bid reason ${nbr}.`,
    ]),
  )
}

const retryWords: Readonly<Record<(typeof noFillReasons)[NoFillReason]['retry'], string>> = {
  'next turn': 'Ask again with the next turn.',
  'after change': 'The same request never fills: change it first.',
  'after consent': 'Ask again after consent is granted.',
  'next topic': 'Ask again when the topic has changed.',
  later: 'Ask again later.',
  no: 'Do not ask again.',
  yes: 'The next request may fill.',
}

function beaconHeads(): Heads {
  return Object.fromEntries(
    Object.entries(acceptMeanings).map(([code, meaning]) => [
      code,
      `**Accepted${code === 'OK' ? '' : ', not counted'}.** ${meaning[0]!.toUpperCase()}${meaning.slice(1)}.`,
    ]),
  )
}

function warningHeads(): Heads {
  return Object.fromEntries(
    Object.entries(warnings).map(([code, { meaning, fix }]) => [code, `**Warning.** ${meaning}\n>\n> ${fix}`]),
  )
}

/** The rows of the tables below `### error`, `### beacon` and `### blocked`. */
function renderHeads(renderer: string): Heads {
  const rows = (heading: string) => {
    const [, section = ''] = new RegExp(`\\n### ${heading}\\n([\\s\\S]*?)(?=\\n##|$)`).exec(renderer) ?? []
    return [...section.matchAll(/^\| `(\w+)` \| (.*) \|$/gm)].map(([, code = '', cells = '']) => {
      const [cause = '', fix = ''] = cells.split(' | ')
      return [code, `**\`${heading}\` event.** ${cause}.${fix === '' ? '' : ` ${fix}.`}`] as const
    })
  }
  return Object.fromEntries([...rows('error'), ...rows('beacon'), ...rows('blocked')])
}

/** Every rule by id. A rule that several commands use is written once. */
function ruleHeads(): Heads {
  const sets: readonly (readonly [judge: string, rules: Readonly<Record<string, RuleText>>])[] = [
    ['svc observe', journalRules],
    ['svc observe --url', allPageRules],
    ['svc doctor', { ...machineRules, ...agentFileRules, ...sandboxRules }],
    ['svc beacons lint', { ...beaconFileRules, ...beaconSlotRules, ...fileTurnRules }],
  ]
  const judges = new Map<string, string[]>()
  const rules = new Map<string, RuleText>()
  for (const [judge, set] of sets) {
    for (const rule of Object.values(set)) {
      const id = rule.id.replaceAll(' ', '-')
      judges.set(id, [...(judges.get(id) ?? []), `\`${judge}\``])
      if (!rules.has(id)) rules.set(id, rule)
    }
  }
  return Object.fromEntries(
    [...rules].map(([id, { severity, title, costs, fix }]) => {
      // A word begins the sentence with a capital, the name of a field does not.
      const required = title?.replace(/\.$/, '').replace(/^[a-z](?=[a-z]* )/, (letter) => letter.toUpperCase())
      const parts = [
        `**${severity === 'error' ? 'Error' : 'Warning'}.**${required === undefined ? '' : ` ${required}.`}`,
        ...(costs === undefined ? [] : [`Otherwise: ${costs}`]),
        `Fix: ${fix}`,
        `Checked by ${judges.get(id)!.join(', ')}.`,
      ]
      return [id, parts.join('\n>\n> ')]
    }),
  )
}

/** Returns the response in which a code appears, as JSON; null for codes that no response has. */
export function renderExample(group: string, code: string): string | null {
  if (group === 'errors' && code in reasonCodes) {
    const body = new ApiError(code as ReasonCode).toBody('req_038k9tn0400', 'http://127.0.0.1:4010')
    return JSON.stringify(body, null, 2)
  }
  if (group === 'no-fill' && code in noFillReasons) return JSON.stringify(noFillExample(code as NoFillReason), null, 2)
  if (group === 'beacons') return JSON.stringify(beaconExample(code), null, 2)
  return null
}

function noFillExample(code: NoFillReason): object {
  const { origin, nbr } = noFillReasons[code]
  const decision = {
    fill: false,
    format: null,
    asset_token: null,
    reason: 'no_fill',
    no_fill_reason: code,
    reason_origin: origin,
    nbr,
    retryable: isRetryable(code),
  }
  return { status: 'ready', slot_id: 'slot_038k9tmm001', decision, placement: null }
}

function beaconExample(code: string): object {
  return { accepted: true, duplicate: code === 'DUPLICATE', reason_code: code, billable: false }
}
