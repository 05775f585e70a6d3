import { useEffect, useRef, useState } from 'react'
import type { ConsentView } from '../lib/consent'

export interface ChatTurn {
  id: string
  question: string
  /** The part that has arrived. */
  answer: string
  state: 'running' | 'done' | 'stopped' | 'failed'
  /** The consent when the question was asked. Without it, the turn never has a sponsored slot. */
  consent: ConsentView | null
}

export interface ChatTurns {
  turns: ChatTurn[]
  isRunning: boolean
  ask(question: string, consent: ConsentView | null): Promise<void>
  stop(): void
}

export function useChat(): ChatTurns {
  const [turns, setTurns] = useState<ChatTurn[]>([])
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])

  async function ask(question: string, consent: ConsentView | null): Promise<void> {
    running.current?.abort()
    const turn = new AbortController()
    running.current = turn
    const id = crypto.randomUUID()
    const change = (changed: (turn: ChatTurn) => Partial<ChatTurn>) =>
      setTurns((turns) => turns.map((turn) => (turn.id === id ? { ...turn, ...changed(turn) } : turn)))

    setTurns((turns) => [...turns, { id, question, answer: '', state: 'running', consent }])
    try {
      for await (const text of answer(question, turn.signal)) change((turn) => ({ answer: turn.answer + text }))
      change(() => ({ state: 'done' }))
    } catch {
      change(() => ({ state: turn.signal.aborted ? 'stopped' : 'failed' }))
    }
  }

  return {
    turns,
    isRunning: turns.at(-1)?.state === 'running',
    ask,
    stop: () => running.current?.abort(),
  }
}

/** Yields the model's answer as it arrives from the server. Throws if the connection breaks. */
async function* answer(question: string, signal: AbortSignal): AsyncGenerator<string> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch('/api/chat', { method: 'POST', headers, body: JSON.stringify({ question }), signal })
  if (!response.ok || response.body === null) throw new Error(`/api/chat answered ${response.status}`)
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value
}
