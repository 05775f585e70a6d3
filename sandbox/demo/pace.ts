/** The pace of a model that is not there: text that arrives word by word, and waits that end when the turn does. */
import { el } from './elements.ts'

/** Without motion a piece of text is there at once, and so is the next one soon after. */
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

/** Numbers between 0 and 1 that are the same for the same text: pictures and waves of a prompt never change. */
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

/** Writes `text` into `parent`, a few words at a time; `**strong**` is strong, `` `code` `` is code. */
export async function write(parent: Element, text: string, signal: AbortSignal, word_ms = 26): Promise<void> {
  for (const { kind, words } of runsOf(text)) {
    const home = kind === 'plain' ? parent : parent.appendChild(el(kind === 'strong' ? 'strong' : 'code'))
    const chunk = isCalm.matches ? words.length : 2
    for (let index = 0; index < words.length; index += chunk) {
      const piece = words.slice(index, index + chunk).join('')
      home.append(el('span', { class: 'arriving' }, piece))
      await pause(isCalm.matches ? calm_ms : word_ms * chunk, signal)
    }
    const whole = words.join('')
    home.querySelectorAll(':scope > .arriving').forEach((span) => {
      span.replaceWith(...span.childNodes)
    })
    if (kind !== 'plain') home.textContent = whole
    home.normalize()
  }
}

/** The same, all at once. */
export function writeNow(parent: Element, text: string): void {
  for (const { kind, words } of runsOf(text)) {
    const whole = words.join('')
    parent.append(kind === 'plain' ? whole : el(kind === 'strong' ? 'strong' : 'code', {}, whole))
  }
}

interface Run {
  kind: 'plain' | 'strong' | 'code'
  words: string[]
}

function runsOf(text: string): Run[] {
  const parts = text.split(/(\*\*[^*]+\*\*|`[^`]+`)/).filter((part) => part !== '')
  return parts.map((part) => {
    const kind = part.startsWith('**') ? 'strong' : part.startsWith('`') ? 'code' : 'plain'
    const bare = kind === 'plain' ? part : part.replaceAll(/^(\*\*|`)|(\*\*|`)$/g, '')
    return { kind, words: bare.match(/\S+\s*|\s+/g) ?? [] }
  })
}
