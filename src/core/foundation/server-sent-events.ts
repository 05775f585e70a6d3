/** The format of an event stream, for the client and for the sandbox's own pages. */
import { type Json, parseJson } from './json.ts'

/** Splits a text into complete blocks and the rest, which the next text continues. */
export function splitEventBlocks(text: string): { blocks: string[]; rest: string } {
  const blocks = text.replaceAll('\r\n', '\n').split('\n\n')
  const rest = blocks.pop() ?? ''
  return { blocks, rest }
}

/** Returns the JSON of a block; undefined for a comment or a text that is not JSON. */
export function parseEventData(block: string): Json | undefined {
  const data = block
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).replace(/^ /, ''))
    .join('\n')
  return parseJson(data)
}
