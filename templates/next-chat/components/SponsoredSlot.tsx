import { useEffect, useRef } from 'react'
import { type SponsoredTurn, sponsorTurn } from './sponsored'
import type { ChatTurn } from './useChat'

/**
 * The sponsored slot of one turn. React owns the element and render.js what is in it, so it has no children here; while
 * it is empty it takes no space. The effect depends on nothing that changes while the answer streams in.
 */
export function SponsoredSlot({ turn, renderer_url }: { turn: ChatTurn; renderer_url: string }) {
  const target = useRef<HTMLDivElement>(null)
  const sponsored = useRef<SponsoredTurn | null>(null)
  const { id, question, state } = turn

  useEffect(() => {
    if (target.current === null) return
    const started = sponsorTurn({ id, target: target.current, question, renderer_url })
    sponsored.current = started
    return () => started.cancel()
  }, [id, question, renderer_url])

  useEffect(() => {
    if (state === 'done') sponsored.current?.finish()
    if (state === 'stopped' || state === 'failed') sponsored.current?.cancel()
  }, [state])

  return <div ref={target} className="slot" />
}
