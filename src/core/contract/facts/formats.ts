/**
 * What each format is, for everything that differs by it. Nothing is imported, so that pages and workers read it without loading
 * a schema.
 */

interface FormatFacts {
  /** Its name in a form. */
  label: string
  /** What its frame shows: `placement.render.media_type`. */
  media_type: 'image' | 'video' | 'native'
  /** The field of a placement that has the address of its creative. */
  media_field: 'image_url' | 'video_url'
  /** Whether it plays: only such a format has events of playback, and can be completed. */
  plays: boolean
  /** Whether its parts come as `decision.assets` and are laid out by a template; others are one file. */
  has_assets: boolean
}

export const formatFacts = {
  banner: { label: 'Banner', media_type: 'image', media_field: 'image_url', plays: false, has_assets: false },
  clip: { label: 'Clip', media_type: 'video', media_field: 'video_url', plays: true, has_assets: false },
  native: { label: 'Native', media_type: 'native', media_field: 'image_url', plays: false, has_assets: true },
} as const satisfies Record<string, FormatFacts>

export type Format = keyof typeof formatFacts
export const formats = Object.keys(formatFacts) as [Format, ...Format[]]

/** Its own facts, where code must not know which formats there are. */
export function readFormat(format: Format): FormatFacts {
  return formatFacts[format]
}

export function isFormat(value: unknown): value is Format {
  return typeof value === 'string' && Object.hasOwn(formatFacts, value)
}

export const mediaTypes = [...new Set(formats.map((format) => formatFacts[format].media_type))]
