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
  answer(signal: AbortSignal): Promise<void>
}

export interface Surface {
  /** Shows the prompt, and says where the ad goes and how the answer is made. `isAgain` replaces the last turn. */
  begin(prompt: Prompt, isAgain: boolean): TurnScene
}

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
  /** What the product tells the service about its slot. */
  slot: { position: NonNullable<SlotHint['position']>; max_height: number; timing: 'before' | 'during' | 'after' }
  template: NativeTemplateId
  /** Builds the product into its empty window. */
  open(window: HTMLElement): Surface
}
