/** What the document says of a placement beyond its fields: which of them go together. */
import type { JsonValue } from '../json.ts'
import { isObject, valueAt } from './paths.ts'

const mediaTypes: Readonly<Record<string, string>> = { banner: 'image', clip: 'video', native: 'native' }

/** Of an answer whose fields are right by themselves. */
export function placementProblems(body: JsonValue): string[] {
  const { status, placement, decision } = body as Record<string, JsonValue>
  if (status === 'pending') return placement === null && decision === null ? [] : ['pending, yet decided']
  if (!isObject(decision)) return status === 'ready' ? ['ready without a decision'] : []
  if (decision.fill !== true) return placement === null ? [] : ['a placement without a fill']
  if (status === 'expired') return placement === null ? [] : ['expired, yet a placement']
  if (!isObject(placement)) return ['a fill without a placement']
  const format = String(decision.format)
  const url = format === 'clip' ? placement.video_url : placement.image_url
  const native = valueAt(decision, 'assets.image_url')
  const { width, height } = placement
  return [
    ...same('format', placement.format, format),
    ...same('asset_token', placement.asset_token, decision.asset_token),
    ...same('sponsor_name', placement.sponsor_name, decision.sponsor_name, valueAt(placement, 'render.sponsor_name')),
    ...same('click_url', placement.click_url, decision.click_url, valueAt(placement, 'render.click_url')),
    ...same('label', placement.ad_label_text, decision.ad_label_text, valueAt(placement, 'render.label_text')),
    ...same('width', width, valueAt(decision, 'dimensions.width'), valueAt(placement, 'render.width')),
    ...same('height', height, valueAt(decision, 'dimensions.height'), valueAt(placement, 'render.height')),
    ...same('render.media_type', valueAt(placement, 'render.media_type'), mediaTypes[format]),
    ...same('render.aspect_ratio', valueAt(placement, 'render.aspect_ratio'), `${String(width)}/${String(height)}`),
    ...(format === 'clip' ? [] : same('video_url', placement.video_url, null)),
    ...(format === 'clip' ? same('image_url', placement.image_url, null) : []),
    ...(format === 'native'
      ? same('image_url', placement.image_url, native)
      : same('delivery_url', decision.delivery_url, url)),
    ...(format === 'native'
      ? same('delivery_url', decision.delivery_url, null)
      : same('assets', decision.assets, null)),
    ...(typeof url === 'string' ? [] : [`a ${format} without its address`]),
    ...templateProblems(format, valueAt(placement, 'render.native_template_id')),
  ]
}

function templateProblems(format: string, template: JsonValue | undefined): string[] {
  if (format === 'native') return typeof template === 'string' ? [] : ['native without render.native_template_id']
  return template === undefined ? [] : [`${format} with render.native_template_id`]
}

/** The same thing, said in several places. */
function same(what: string, ...values: (JsonValue | undefined)[]): string[] {
  const [first, ...others] = values
  const different = others.find((value) => value !== first)
  return others.every((value) => value === first)
    ? []
    : [`${what}: ${JSON.stringify(first)} and ${JSON.stringify(different)}`]
}
