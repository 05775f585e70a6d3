/**
 * Keys that are typed while this process has its terminal. A process in the background (`svc start &`, `bg` after Ctrl-Z) must
 * not read: the system would stop it.
 */
import type { ReadStream } from 'node:tty'

interface KeySource {
  stdin: Pick<ReadStream, 'setRawMode' | 'on' | 'off' | 'resume' | 'pause' | 'unref'>
  /** Whether this process is in the foreground of its terminal now. */
  isForeground(): boolean
  /** Sends a signal to all processes of the terminal's foreground, as its driver does when it reads the keys itself. */
  raise(signal: 'SIGINT' | 'SIGTSTP' | 'SIGQUIT'): void
  /** Calls `handler` when this process goes on after a stop. Returns a function that undoes it. */
  onContinue(handler: () => void): () => void
  /** Moves the cursor to the next line, as a terminal does for Enter. */
  echoLine(): void
}

/** The keys for which the terminal sends no signal while keys are read one by one. */
const signals: ReadonlyMap<string, 'SIGINT' | 'SIGTSTP' | 'SIGQUIT'> = new Map([
  ['\u0003', 'SIGINT'],
  ['\u001a', 'SIGTSTP'],
  ['\u001c', 'SIGQUIT'],
])

/**
 * Calls `handler` for each key. Returns a function that ends it and gives the terminal back; null, and reads nothing, when
 * this process is in the background.
 */
export function readTerminalKeys(source: KeySource, handler: (key: string) => void): (() => void) | null {
  const { stdin } = source
  if (!source.isForeground()) return null
  const onData = (chunk: Buffer) => {
    for (const key of chunk.toString()) {
      const signal = signals.get(key)
      if (signal === 'SIGTSTP') release()
      if (signal !== undefined) source.raise(signal)
      else if (key === '\r' || key === '\n') source.echoLine()
      else handler(key)
    }
  }
  // A terminal that was closed: SIGHUP says so too.
  const onError = () => stdin.pause()
  const take = () => {
    stdin.setRawMode(true)
    stdin.resume()
  }
  const release = () => {
    stdin.pause()
    stdin.setRawMode(false)
  }
  stdin.on('data', onData)
  stdin.on('error', onError)
  const ignoreContinue = source.onContinue(() => {
    // After `bg` it neither reads nor changes the terminal, which is the shell's.
    if (source.isForeground()) take()
    else stdin.pause()
  })
  take()
  return () => {
    ignoreContinue()
    stdin.off('data', onData)
    stdin.off('error', onError)
    if (source.isForeground()) release()
    else stdin.pause()
    stdin.unref()
  }
}
