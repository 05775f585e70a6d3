/** What a mini product is made of. Each has a composer, scripted answers and one slot at the place that suits it. */
import type { JobType, NativeTemplateId, SlotHint } from '../../../src/contract/fields.ts'
import type { IconName } from '../icons.ts'
import type { Slot } from '../slot.ts'

/** Something a person may ask. */
export interface Prompt {
  /** On the chip. */
  label: string
  /** What is asked. */
  text: string
  /** What it is about, for matching with consent; free input has none. */
  topic?: string
}

/** A turn as the product sees it: write the answer, stop when told. */
export interface TurnScene {
  /** Where the ad of this turn may show. */
  slot: Slot
  /** Resolves with what a reader of the screen is told when it is done. */
  answer(signal: AbortSignal): Promise<string>
}

export interface Surface {
  /** Shows the prompt, and says where the ad goes and how the answer is made. `isAgain` replaces the last turn. */
  begin(prompt: Prompt, isAgain: boolean): TurnScene
}

/** Where the slot is, when it shows, and how much of the product it may take. */
export interface SlotPlan {
  position: NonNullable<SlotHint['position']>
  timing: 'before' | 'during' | 'after'
  /** CSS pixels. */
  max_height: number
  /** A strip suits better than a box where text runs. CSS pixels. */
  banner_max_height?: number
  /** Of the height of the product's window, at most; the slots beside the content of a wide one have their own room. */
  share: number
}

/** From this width of its window on, a product has room for two columns. CSS pixels. */
export const wide_px = 760

export interface SurfaceKind {
  job_type: JobType
  icon: IconName
  /** The tab. */
  name: string
  /** The invented product. */
  product: string
  tagline: string
  placeholder: string
  /** On the button that asks. */
  ask: string
  prompts: readonly Prompt[]
  slot: SlotPlan
  /** The native template that suits it, on a phone and on a desk. */
  template: { narrow: NativeTemplateId; wide: NativeTemplateId }
  /** Builds the product into its empty window. */
  open(window: HTMLElement): Surface
}
