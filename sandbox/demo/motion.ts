/** The pace of a model that is not there: text word by word, waits that end with the turn, chance that repeats. */
import { html } from './elements.ts'

/** With reduced motion a whole text appears at once, and the next one soon after. */
const calm_ms = 120
export const isCalm = matchMedia('(prefers-reduced-motion: reduce)')

/** Resolves after a while. Rejects with the signal's reason when the turn is stopped. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal.addEventListener('abort', stop, { once: true })
  })
}

/** Writes `text` into `parent`, a few words at a time; `**strong**` is strong, `` `code` `` is code. */
export async function write(parent: Element, text: string, signal: AbortSignal, word_ms: number): Promise<void> {
  for (const part of text.split(/(\*\*[^*]+\*\*|`[^`]+`)/)) {
    const tag = part.startsWith('**') ? 'strong' : part.startsWith('`') ? 'code' : null
    const home = tag === null ? parent : parent.appendChild(document.createElement(tag))
    const words = part.replaceAll(/\*\*|`/g, '').match(/\S+\s*|\s+/g) ?? []
    const chunk = isCalm.matches ? words.length : 2
    for (let index = 0; index < words.length; index += chunk) {
      home.append(html`<span class="arriving">${words.slice(index, index + chunk).join('')}</span>`)
      await pause(isCalm.matches ? calm_ms : word_ms * chunk, signal)
    }
    for (const span of home.querySelectorAll(':scope > .arriving')) span.replaceWith(...span.childNodes)
    home.normalize()
  }
}

/** Returns numbers between 0 and 1 that are the same for the same text: pictures of a prompt never change. */
export function seeded(text: string): () => number {
  let state = 2_166_136_261
  for (const character of text) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 16_777_619)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
