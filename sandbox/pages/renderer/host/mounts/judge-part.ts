/** The third part of the script, `judge.js`, loaded once for all ads of the page when something has to be judged. */

import type { inspectLabel, judge } from '../judge/main.ts'
import type { Renderer } from '../renderer.ts'

interface Part {
  judge: typeof judge
  inspectLabel: typeof inspectLabel
}

export interface JudgePart {
  /** Returns the part, or null while it is not loaded. */
  get(): Part | null
  /** Starts to load it, once. `onLoaded` is called then. Returns why there is none yet: it cannot be loaded, or not yet. */
  load(onLoaded?: () => unknown): 'script_incomplete' | 'pending'
}

/** A part that has not come by then counts as one that cannot be loaded, milliseconds. */
const longest_ms = 15_000

export function openJudgePart(renderer: Renderer): JudgePart {
  let part: Part | null = null
  let loading: Promise<void> | undefined
  let hasFailed = false
  let asked_at_ms = Infinity
  return {
    get: () => part,
    load: (onLoaded) => {
      asked_at_ms = Math.min(asked_at_ms, performance.now())
      loading ??= renderer.loadJudge!<Part>().then(
        (loaded) => {
          part = loaded
        },
        () => {
          hasFailed = true
        },
      )
      if (onLoaded && !hasFailed) void loading.then(() => part && onLoaded())
      return hasFailed || performance.now() - asked_at_ms > longest_ms ? 'script_incomplete' : 'pending'
    },
  }
}
