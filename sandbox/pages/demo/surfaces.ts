/**
 * The choices of the page, with their labels and hints: all of them are in the address, so any state can be shared.
 * Also the five products of the demo, as data: the look and pace of each, the place of its slot, its prompts and its
 * scripted answers. The same components play all of them (product.ts, canvases.ts).
 */
import type { Format, JobType, NativeTemplateId, SlotHint } from '#contract/fields.ts'
import agent from '#fixtures/demo/agent.json' with { type: 'json' }
import chat from '#fixtures/demo/chat.json' with { type: 'json' }
import options from '#fixtures/demo/choices.json' with { type: 'json' }
import code from '#fixtures/demo/code.json' with { type: 'json' }
import image from '#fixtures/demo/image.json' with { type: 'json' }
import voice from '#fixtures/demo/voice.json' with { type: 'json' }
import { tableNames } from '#foundation/table-entry.ts'
import type { IconName } from './elements.ts'

interface Option {
  label: string
  hint?: string
}

/** Every value of every choice; the first one is the default. Choices from the contract list every value. */
export { options }

options satisfies Record<string, Record<string, Option>> & {
  surface: Record<JobType, Option>
  format: Record<Format | 'auto', Option>
  template: Record<NativeTemplateId | 'fitting', Option>
}

export type Choices = { [Name in keyof typeof options]: keyof (typeof options)[Name] & string }

const tables: { [Name in keyof Choices]: Readonly<Record<Choices[Name], Option>> } = options

/** Returns the values of a choice with their labels and hints. */
export function listOptions<Name extends keyof Choices>(name: Name): (Option & { value: Choices[Name] })[] {
  const known = tables[name]
  return tableNames(known).map((value) => ({ ...known[value], value }))
}

/** Returns the choices of a query string. A value that is missing or unknown is the default. */
export function readChoices(search: string): Choices {
  const query = new URLSearchParams(search)
  const entries = Object.entries(options).map(([name, known]) => {
    const value = query.get(name) ?? ''
    return [name, Object.hasOwn(known, value) ? value : Object.keys(known)[0]]
  })
  return Object.fromEntries(entries) as Choices
}

/** Returns the shortest query string that reads as these choices, with its question mark. */
export function writeChoices(choices: Choices): string {
  const query = new URLSearchParams()
  const defaults = readChoices('')
  for (const name of tableNames(options)) {
    if (choices[name] !== defaults[name]) query.set(name, choices[name])
  }
  return query.size === 0 ? '' : `?${query}`
}

/** The activity of a product. */
export type State = 'idle' | 'listening' | 'thinking' | 'answering'

export interface DemoProduct {
  /** The invented product. */
  product: string
  tagline: string
  placeholder: string
  /** Label of the button that asks. */
  ask: string
  hue: number
  /** Lightness of its colour on light paper, percent; 34 unless the hue is a bright one. */
  depth?: number
  /** The canvas other than text. */
  canvas: 'editor' | 'gallery' | 'wave' | null
  /** The part that scrolls, with its name for screen readers. */
  scrolls: { part: 'body' | 'thread' | 'canvas'; label: string }
  /** Whether earlier turns stay above the newest one. */
  keepsHistory: boolean
  slot: SlotPlan
  /** The native template that suits it, on a phone and on a desk. */
  template: { narrow: NativeTemplateId; wide: NativeTemplateId }
  /** Milliseconds: per word of a question that is spoken, before the answer, per word of the answer. */
  pace: { question_ms?: number; thinking_ms: number; word_ms: number }
  states: Partial<Record<State, { icon?: IconName | 'dots'; text: string }>>
  /** The files that an editor lists. */
  files?: readonly string[]
  prompts: readonly Prompt[]
  /** The answer to everything that is not a prompt. */
  fallback: Answer
}

/** Where the slot is and how much of the product it may take. Lengths in CSS pixels. */
interface SlotPlan {
  /** `inline` and `between` move with the turn, the others have a fixed place. */
  position: NonNullable<SlotHint['position']>
  max_height: number
  /** Where text flows, a strip suits better than a box. */
  banner_max_height?: number
  /** Maximum share of the window's height, unless the slot is beside the content. */
  share: number
}

/** Something to ask. Free input has no topic, which is for matching with consent, and no answer. */
export interface Prompt {
  label: string
  topic?: string
  text: string
  answer?: Answer
}

/** The script of a product, in order. In texts `**strong**` is strong and `` `code` `` is code. */
export interface Answer {
  /** The change that an editor suggests: lines that begin with `+`, `-` or a space. */
  diff?: { file: string; lines: readonly string[] }
  /** The pictures that a gallery shows: fixtures/demo/<name>-<1 to 4>.webp. */
  pictures?: string
  /** Paragraphs; those that begin with `- ` are items of a list. */
  text?: readonly string[]
  steps?: readonly Step[]
  /** Comes after the slot. The first row of its table is the head. */
  report?: { title: string; summary: string; table: readonly (readonly string[])[]; conclusion: string }
}

export interface Step {
  icon: IconName
  tool: string
  input: string
  output: string
  takes_ms: number
}

export const surfaces = { chat, code, image, voice, agent } as Readonly<Record<JobType, DemoProduct>>
