/** Where in a YAML file each value stands. */
import { type Document, isMap, isNode, isPair, isSeq, type LineCounter, type Node } from 'yaml'
import type { Place } from '../result.ts'

export type Path = readonly (string | number)[]

export class Places {
  readonly #document: Document
  readonly #lines: LineCounter
  readonly #file: string

  constructor(document: Document, lines: LineCounter, file: string) {
    this.#document = document
    this.#lines = lines
    this.#file = file
  }

  /** The place of a value; of what holds it where it is not there itself. */
  of(path: Path): Place {
    let node: unknown = this.#document.contents
    let found = node
    for (const name of path) {
      node = childOf(node, name, this.#document)
      if (!isNode(node)) break
      found = node
    }
    return this.#at(found)
  }

  /** The place of the name of a member. */
  ofName(path: Path, name: string): Place {
    let node: unknown = this.#document.contents
    for (const step of path) node = childOf(node, step, this.#document)
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isNode(key) && String(key) === name)
      if (isPair(pair) && isNode(pair.key)) return this.#at(pair.key)
    }
    return this.of(path)
  }

  offset(offset: number): Place {
    const { line, col } = this.#lines.linePos(offset)
    return { file: this.#file, line: Math.max(1, line), column: Math.max(1, col) }
  }

  #at(node: unknown): Place {
    return this.offset(isNode(node) ? ((node as Node).range?.[0] ?? 0) : 0)
  }
}

function childOf(node: unknown, name: string | number, document: Document): unknown {
  const target =
    isNode(node) && 'source' in node && 'resolve' in node
      ? (node as { resolve(doc: Document): unknown }).resolve(document)
      : node
  return isMap(target) || isSeq(target) ? target.get(name, true) : undefined
}
