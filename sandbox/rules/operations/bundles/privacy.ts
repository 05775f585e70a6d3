/** A turn without the personal data in it (A116): what clients wrote into topics, session ids, metadata and labels. */

import type { BundleTurn } from '#contract/bundles/bundle.ts'
import { findPersonalFields } from '#contract/personal-data/personal-fields.ts'
import { walkJson } from '#foundation/json/walk.ts'
import { parseJson, valueAt } from '#foundation/json.ts'
import { findPersonalData } from '#foundation/personal-data/personal-data.ts'

const removed = '[removed]'

/**
 * Returns a turn with every personal text replaced, wherever it occurs, bodies included. An evidence entry that has one is left
 * out: changed, it could not be proven.
 */
export function withoutPersonalData(turn: BundleTurn): BundleTurn {
  const texts = listPersonalTexts(turn)
  if (texts.size === 0) return turn
  const forms = [...texts].flatMap((text) => [escapedText(text, 1), escapedText(text, 2), escapedText(text, 3)])
  const isClean = (text: string) => forms.every((form) => !text.includes(form))
  const evidence = turn.evidence.filter(({ entry }) => isClean(entry))
  const json = forms.reduce((text, form) => text.replaceAll(form, removed), JSON.stringify({ ...turn, evidence }))
  return JSON.parse(json) as BundleTurn
}

/** Returns every personal text of the turn and of the bodies of its requests. */
function listPersonalTexts({ placement, requests }: BundleTurn): Set<string> {
  const { session_id, topic, beacons } = placement
  const own = { session_id, prompt: { topic } }
  const bodies: unknown[] = [own, ...beacons.map(({ metadata }) => ({ metadata })), ...requests.map(readBody)]
  return new Set(
    bodies.flatMap((body) =>
      findPersonalFields(body).flatMap(({ path, part }) => [
        // What the name of a field says of it, the text alone may not show.
        ...readLeaf(valueAt(body, path)),
        ...listTexts(valueAt(body, part.join('.'))).filter((text) => findPersonalData(text).length > 0),
      ]),
    ),
  )
}

function readBody({ request_body }: BundleTurn['requests'][number]): unknown {
  return parseJson(request_body ?? '')
}

function readLeaf(value: unknown): string[] {
  return typeof value === 'string' || typeof value === 'number' ? [String(value)] : []
}

/** Returns the texts and numbers in a value, and the names of its fields. */
function listTexts(value: unknown): string[] {
  return [...walkJson(value)].flatMap(({ value, name }) => [name, ...readLeaf(value)])
}

/** Returns a text as JSON has it, inside as many JSON texts. */
function escapedText(text: string, depth: number): string {
  return depth === 0 ? text : escapedText(JSON.stringify(text).slice(1, -1), depth - 1)
}
