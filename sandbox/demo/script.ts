/**
 * The script of a product: its prompts and scripted answers, written as text.
 *
 *     # Label of the prompt [topic]      a prompt without `>` is the answer to everything else
 *     > What is asked
 *     A paragraph
 *     - an item
 *     $ icon tool | input | output | milliseconds        a step
 *     ---                                the slot; after it comes the report
 *     ## A title
 *     | a table row | its second cell
 *     ! ridges                           pictures in this style
 *     ~~~ path/of/a/file                 a diff, up to the closing ~~~
 */
export interface Line {
  kind: 'text' | 'item' | 'step' | 'slot' | 'title' | 'row' | 'pictures' | 'diff'
  text: string
}

/** Something to ask. */
export interface Prompt {
  /** On the chip. */
  label: string
  text: string
  /** For matching with consent; free input has none. */
  topic?: string
  answer: readonly Line[]
}

export interface Script {
  prompts: readonly Prompt[]
  /** The answer to everything that is not a prompt. */
  fallback: readonly Line[]
}

const kinds: Record<string, Line['kind']> = {
  '-': 'item',
  $: 'step',
  '---': 'slot',
  '##': 'title',
  '|': 'row',
  '!': 'pictures',
  '~~~': 'diff',
}

export function parseScript(source: string): Script {
  const prompts = source.split(/^# /m).slice(1).map(parsePrompt)
  const fallback = prompts.find(({ text }) => text === '')?.answer ?? []
  return { prompts: prompts.filter(({ text }) => text !== ''), fallback }
}

function parsePrompt(source: string): Prompt {
  const [head = '', ...blocks] = source
    .split(/^(~~~ [\s\S]*?)\n~~~$/m)
    .flatMap((part) => (part.startsWith('~~~') ? part : part.split('\n').filter((line) => line !== '')))
  const [, label = '', topic] = /^(.*?)(?: \[(.*)\])?$/.exec(head) ?? []
  const answer: Line[] = []
  let text = ''
  for (const block of blocks) {
    const [, mark = '', rest = ''] = /^(\S+) ?([\s\S]*)$/.exec(block) ?? []
    const kind = kinds[mark]
    if (mark === '>') text = rest
    else answer.push(kind === undefined ? { kind: 'text', text: block } : { kind, text: rest })
  }
  return { label, text, answer, ...(topic !== undefined && { topic }) }
}
