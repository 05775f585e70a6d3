/** The frame of a fill as a page would show it. Its document counts nothing: no load, no beacon. */
import { linkTo } from '../../data/session.ts'

export interface FramePreviewProps {
  slot_id: string
  width: number
  height: number
}

/** Wide frames are scaled down to this width, CSS pixels. */
const most_px = 380

export function FramePreview({ slot_id, width, height }: FramePreviewProps) {
  const scale = Math.min(1, most_px / Math.max(1, width))
  return (
    <div className="preview-place">
      <div style={{ width: width * scale, height: height * scale }}>
        <iframe
          title="The rendered frame"
          src={linkTo(`/_sandbox/placements/${encodeURIComponent(slot_id)}/preview`)}
          sandbox="allow-scripts"
          width={width}
          height={height}
          style={{ transform: `scale(${scale})` }}
        />
      </div>
    </div>
  )
}
