/** Questions on a terminal, one line each. They go to stderr, because stdout is for data. */
import { CliError } from '../run/errors.ts'
import type { Session } from '../run/session.ts'

export interface Prompt {
  /** The answer without the blanks around it; empty when only Enter was pressed. Null when the input has ended. */
  ask(question: string): Promise<string | null>
  /** Stops reading. To be called in any case, else the process would wait for more. */
  close(): void
}

/** Opens the terminal for questions. An interrupt ends the question that waits, with the interrupt's own failure. */
export function openPrompt({ host, signal }: Pick<Session, 'host' | 'signal'>): Prompt {
  const chunks = host.stdin[Symbol.asyncIterator]()
  const decoder = new TextDecoder()
  let rest = ''
  let isEnded = false

  async function line(): Promise<string | null> {
    while (!rest.includes('\n') && !isEnded) {
      const { value, done } = await unlessAborted(chunks.next(), signal)
      if (done) isEnded = true
      else rest += decoder.decode(value, { stream: true })
    }
    if (rest === '' && isEnded) return null
    const [first = '', ...others] = rest.split('\n')
    rest = others.join('\n')
    return first.trim()
  }

  return {
    async ask(question) {
      host.stderr.write(question)
      return line().catch((error) => {
        host.stderr.write('\n')
        throw error
      })
    },
    close: () => host.closeInput(),
  }
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason ?? new CliError('interrupted', 'interrupted', 'Interrupted.'))
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
