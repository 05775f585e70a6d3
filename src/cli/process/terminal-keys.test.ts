import { EventEmitter } from 'node:events'
import type { ReadStream } from 'node:tty'
import { expect, test } from 'vitest'
import { readTerminalKeys } from './terminal-keys.ts'

/** A terminal that writes down what is done to it. */
function createTerminal() {
  const done: string[] = []
  const stdin = new EventEmitter()
  const terminal = {
    done,
    is_foreground: true,
    type: (keys: string) => stdin.emit('data', Buffer.from(keys)),
    continue() {},
  }
  const note = (what: string) => () => void done.push(what)
  const source = {
    stdin: Object.assign(stdin, {
      setRawMode: (isRaw: boolean) => void done.push(isRaw ? 'raw' : 'cooked'),
      ...{ resume: note('resume'), pause: note('pause'), unref: note('unref') },
    }) as unknown as ReadStream,
    isForeground: () => terminal.is_foreground,
    raise: (signal: string) => void done.push(signal),
    onContinue(handler: () => void) {
      terminal.continue = handler
      return note('ignore continue')
    },
    echoLine: note('line'),
  }
  return { terminal, source, stdin }
}

test('keys are passed on, and those of signals do what they do without it', () => {
  const { terminal, source, stdin } = createTerminal()
  const keys: string[] = []
  const end = readTerminalKeys(source, (key) => keys.push(key))
  terminal.type('ox\r\u0003\u001c')
  expect(keys).toEqual(['o', 'x'])
  expect(terminal.done).toEqual(['raw', 'resume', 'line', 'SIGINT', 'SIGQUIT'])
  end?.()
  expect(terminal.done.slice(5)).toEqual(['ignore continue', 'pause', 'cooked', 'unref'])
  expect([stdin.listenerCount('data'), stdin.listenerCount('error')]).toEqual([0, 0])
})

test('Ctrl-Z gives the terminal back before it stops, and fg takes it again', () => {
  const { terminal, source } = createTerminal()
  readTerminalKeys(source, () => {})
  terminal.type('\u001a')
  terminal.continue()
  expect(terminal.done).toEqual(['raw', 'resume', 'pause', 'cooked', 'SIGTSTP', 'raw', 'resume'])
})

test('in the background the terminal is neither read nor changed', () => {
  const { terminal, source } = createTerminal()
  const end = readTerminalKeys(source, () => {})
  terminal.type('\u001a')
  terminal.done.length = 0
  terminal.is_foreground = false
  terminal.continue()
  end?.()
  expect(terminal.done).toEqual(['pause', 'ignore continue', 'pause', 'unref'])
  expect(readTerminalKeys(source, () => {})).toBeNull()
})
