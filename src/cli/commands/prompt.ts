/** Questions on a terminal, one line each. They are printed on stderr, because stdout is for data. */

import type { CommandContext } from '#cli/run/command.ts'
import { CliError } from '#text/cli-error.ts'

export interface Prompt {
  /** Asks and returns the answer, trimmed; empty when you only press Enter. Null when the input has ended. */
  ask(question: string): Promise<string | null>
  /** Stops reading. Must be called, or the process waits for more input. */
  close(): void
}

/** Whether there is a terminal to ask on, and --no-input does not forbid it. */
export function canAsk({ system }: Pick<CommandContext, 'system'>): boolean {
  return system.stdin_is_terminal && system.stderr.is_terminal
}

/** Asks a question that y or yes confirms; anything else, and the end of the input, does not. */
export async function confirm(context: Pick<CommandContext, 'system' | 'signal'>, question: string): Promise<boolean> {
  const prompt = openPrompt(context)
  try {
    return /^y(es)?$/i.test((await prompt.ask(`${question} [y/N] `)) ?? '')
  } finally {
    prompt.close()
  }
}

/** Opens the terminal for questions. An interrupt rejects the question that is open with the reason of the signal. */
export function openPrompt({ system, signal }: Pick<CommandContext, 'system' | 'signal'>): Prompt {
  const chunks = system.stdin[Symbol.asyncIterator]()
  const decoder = new TextDecoder()
  let rest = ''
  let isEnded = false

  /** Text already, after ink has read from the terminal. */
  const text = (chunk: Uint8Array | string) =>
    typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })

  async function line(): Promise<string | null> {
    while (!rest.includes('\n') && !isEnded) {
      const { value, done } = await unlessAborted(chunks.next(), signal)
      if (done) isEnded = true
      else rest += text(value)
    }
    if (rest === '' && isEnded) return null
    const [first = '', ...others] = rest.split('\n')
    rest = others.join('\n')
    return first.trim()
  }

  return {
    async ask(question) {
      system.stderr.write(question)
      return line().catch((error) => {
        system.stderr.write('\n')
        throw error
      })
    },
    close: () => system.closeInput(),
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
