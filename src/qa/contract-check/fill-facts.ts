/** What the API document says of a fill of each format, beyond the types of its fields. */
import type { Format } from '../../contract/fields.ts'
import type { Placement, PlacementResponse } from '../../contract/v1/placements.ts'
import type { Recorder } from './recorder.ts'

type Decision = NonNullable<PlacementResponse['decision']>

const mediaTypes: Readonly<Record<Format, string>> = { banner: 'image', clip: 'video', native: 'native' }

/** The answer is of a service: its members may be missing, whatever the type says. */
export function checkFill(
  recorder: Recorder,
  check: string,
  format: Format,
  placement: Placement,
  decision: Decision,
): void {
  const fact = (what: string, expected: unknown, observed: unknown) =>
    recorder.fact('placements.create', check, 'documented', `response ${what}`, expected, observed)
  const { render } = placement as Partial<Placement>
  fact('placement.format', format, placement.format)
  fact('decision.format', format, decision.format)
  fact('placement.render.media_type', mediaTypes[format], render?.media_type)
  fact(
    'placement.asset_token',
    'that of the decision',
    same(placement.asset_token, decision.asset_token, 'that of the decision'),
  )
  fact('placement.render.aspect_ratio', `${render?.width}/${render?.height}`, render?.aspect_ratio)
  if (format === 'native') {
    fact('decision.delivery_url', null, decision.delivery_url)
    const image = 'that of decision.assets'
    fact('placement.image_url', image, same(placement.image_url, decision.assets?.image_url, image))
  } else {
    const media = format === 'banner' ? 'image_url' : 'video_url'
    fact('decision.assets', null, decision.assets)
    fact(
      'decision.delivery_url',
      `placement.${media}`,
      same(decision.delivery_url, placement[media], `placement.${media}`),
    )
  }
}

function same(a: unknown, b: unknown, name: string): string {
  return typeof a === 'string' && a === b ? name : `not ${name}`
}
