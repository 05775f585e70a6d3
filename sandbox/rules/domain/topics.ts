/**
 * Topics: the reduced signal that is matched instead of prompt text (A50, A52).
 *
 * A topic is found by keywords. Text and keywords are split into words alike: lower case, without accents and Arabic
 * vowel signs, punctuation as a boundary. In scripts without spaces (Chinese, Japanese, Thai) each character is a word,
 * so a keyword is found inside a sentence. The keywords form a tree of words, and one pass over the text takes the
 * longest keyword at each word. The time is linear in the length of the text.
 */
interface Branch {
  readonly next: Map<string, Branch>
  /** Topics with a keyword that ends here, as positions in `topics`. */
  readonly ends: number[]
}

interface TopicIndex {
  readonly topics: readonly string[]
  readonly root: Branch
}

const word =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}]|[[\p{L}\p{N}\p{M}]--[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}]]+/gv

const accents = /[\u0300-\u036f\u0640\u064b-\u065f]/g

/** Builds the keyword tree. `data` has the shape of `fixtures/topics.json`: keywords by topic. */
export function prepareTopics(data: { topics: Record<string, string[]> }): TopicIndex {
  const root: Branch = { next: new Map(), ends: [] }
  for (const [position, keywords] of Object.values(data.topics).entries()) {
    for (const keyword of keywords) addKeyword(root, splitWords(keyword), position)
  }
  return { topics: Object.keys(data.topics), root }
}

/**
 * Returns the topic with the most keywords in the text, or null when there is none. On a tie, the topic mentioned first
 * wins, then the first one in the data. A keyword inside a longer one is not counted.
 */
export function deriveTopic(index: TopicIndex, text: string): string | null {
  const words = splitWords(text)
  const hits = new Map<number, number>()
  for (let start = 0; start < words.length; ) {
    const match = findLongestMatch(index.root, words, start)
    if (match === null) {
      start++
      continue
    }
    for (const topic of match.topics) hits.set(topic, (hits.get(topic) ?? 0) + 1)
    start = match.end
  }
  let best: string | null = null
  let most = 0
  for (const [topic, count] of hits) {
    if (count <= most) continue
    best = index.topics[topic]!
    most = count
  }
  return best
}

/**
 * Whether a topic is on the high-risk list, or is a narrower form of a listed one: with `grief` blocked, `Grief`,
 * `grief support` and `grief-support` are all high-risk, `griefing` is not.
 */
export function isHighRisk(blocked: readonly string[], topic: string): boolean {
  const bounded = `-${normalizeTopic(topic)}-`
  return blocked.some((entry) => bounded.includes(`-${normalizeTopic(entry)}-`))
}

/** Returns the normalized spelling of a topic: `Machine Learning` and `machine_learning` become `machine-learning`. */
export function normalizeTopic(topic: string): string {
  return topic
    .normalize('NFKC')
    .toLowerCase()
    .trim()
    .replace(/[\s_-]+/g, '-')
}

function splitWords(text: string): string[] {
  return text.toLowerCase().normalize('NFKD').replace(accents, '').match(word) ?? []
}

function addKeyword(root: Branch, words: readonly string[], topic: number): void {
  let branch = root
  for (const step of words) {
    let next = branch.next.get(step)
    if (next === undefined) {
      next = { next: new Map(), ends: [] }
      branch.next.set(step, next)
    }
    branch = next
  }
  if (!branch.ends.includes(topic)) branch.ends.push(topic)
}

function findLongestMatch(
  root: Branch,
  words: readonly string[],
  start: number,
): { topics: readonly number[]; end: number } | null {
  let branch: Branch | undefined = root
  let match: { topics: readonly number[]; end: number } | null = null
  for (let end = start; end < words.length; ) {
    branch = branch.next.get(words[end]!)
    if (branch === undefined) break
    end++
    if (branch.ends.length > 0) match = { topics: branch.ends, end }
  }
  return match
}
