/** The frame of a fill as a page would show it. Its document counts nothing: no load, no beacon. */
import { useEffect, useRef, useState } from 'react'
import { linkTo } from '../../data/session.ts'

export interface FramePreviewProps {
  slot_id: string
  width: number
  height: number
}

export function FramePreview({ slot_id, width, height }: FramePreviewProps) {
  const place = useRef<HTMLDivElement>(null)
  const [available_px, setAvailable] = useState(width)
  useEffect(() => {
    if (place.current === null) return
    const observer = new ResizeObserver(([entry]) => entry !== undefined && setAvailable(entry.contentRect.width))
    observer.observe(place.current)
    return () => observer.disconnect()
  }, [])
  // A frame that is wider than the panel is shown smaller, not cut.
  const scale = Math.min(1, available_px / Math.max(1, width))
  return (
    <div className="preview-place" ref={place}>
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
