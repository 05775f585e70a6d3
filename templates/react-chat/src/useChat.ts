import { useEffect, useRef, useState } from 'react'
import type { GrantedConsent } from './consent.ts'
import { answer } from './model.ts'

export interface ChatTurn {
  id: string
  question: string
  /** The part that has arrived. */
  answer: string
  state: 'running' | 'done' | 'stopped'
  /** The consent when the question was asked. Without it, the turn never has a sponsored slot. */
  consent: GrantedConsent | null
}

export interface Chat {
  turns: ChatTurn[]
  isRunning: boolean
  ask(question: string, consent: GrantedConsent | null): Promise<void>
  stop(): void
}

export function useChat(): Chat {
  const [turns, setTurns] = useState<ChatTurn[]>([])
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])

  async function ask(question: string, consent: GrantedConsent | null): Promise<void> {
    running.current?.abort()
    const turn = new AbortController()
    running.current = turn
    const id = crypto.randomUUID()
    const change = (changed: (turn: ChatTurn) => Partial<ChatTurn>) =>
      setTurns((turns) => turns.map((turn) => (turn.id === id ? { ...turn, ...changed(turn) } : turn)))

    setTurns((turns) => [...turns, { id, question, answer: '', state: 'running', consent }])
    for await (const text of answer(question, turn.signal)) change((turn) => ({ answer: turn.answer + text }))
    change(() => ({ state: turn.signal.aborted ? 'stopped' : 'done' }))
  }

  return {
    turns,
    isRunning: turns.at(-1)?.state === 'running',
    ask,
    stop: () => running.current?.abort(),
  }
}
