import { useEffect, useRef } from 'react'
import type { GrantedConsent } from './consent.ts'
import { type SponsoredTurn, sponsorTurn } from './sponsored.ts'
import type { ChatTurn } from './useChat.ts'

/**
 * The sponsored slot of one turn. React owns the element and render.js what is in it, so it has no children here; while
 * it is empty it takes no space. The effect depends on nothing that changes while the answer streams in.
 */
export function SponsoredSlot({ turn, consent }: { turn: ChatTurn; consent: GrantedConsent }) {
  const target = useRef<HTMLDivElement>(null)
  const sponsored = useRef<SponsoredTurn | null>(null)
  const { id, question, state } = turn

  useEffect(() => {
    if (target.current === null) return
    const started = sponsorTurn({ id, target: target.current, question, consent })
    sponsored.current = started
    return () => started.cancel()
  }, [id, question, consent])

  useEffect(() => {
    if (state === 'done') sponsored.current?.finish()
    if (state === 'stopped') sponsored.current?.cancel()
  }, [state])

  return <div ref={target} className="slot" />
}
