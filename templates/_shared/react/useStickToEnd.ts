import { type RefObject, useEffect } from 'react'

/** How close to the end counts as being at the end, in CSS pixels. */
const near_px = 80

/** Shows the end of `content` when a turn is added, and while it grows, unless the reader has scrolled away from it. */
export function useStickToEnd(
  scroller: RefObject<HTMLElement | null>,
  content: RefObject<HTMLElement | null>,
  turns: number,
): void {
  useEffect(() => {
    const { current: element } = scroller
    if (element === null || content.current === null || turns === 0) return
    let isAtEnd = true
    const look = () => {
      isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < near_px
    }
    const observer = new ResizeObserver(() => {
      if (isAtEnd) element.scrollTop = element.scrollHeight
    })
    element.addEventListener('scroll', look)
    observer.observe(content.current)
    return () => {
      element.removeEventListener('scroll', look)
      observer.disconnect()
    }
  }, [scroller, content, turns])
}
