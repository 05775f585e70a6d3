/** Keeps the newest line of something that grows in view, unless the reader has scrolled back from it. */
export function stickToEnd(scroller: HTMLElement, content: HTMLElement): void {
  const slack_px = 40
  let isFollowing = true
  let top = 0
  scroller.addEventListener('scroll', () => {
    const { scrollTop, clientHeight, scrollHeight } = scroller
    if (scrollTop + clientHeight >= scrollHeight - slack_px) isFollowing = true
    else if (scrollTop < top) isFollowing = false
    top = scrollTop
  })
  const follow = () => {
    if (isFollowing) scroller.scrollTop = scroller.scrollHeight
  }
  const sizes = new ResizeObserver(follow)
  sizes.observe(content)
  sizes.observe(scroller)
}
