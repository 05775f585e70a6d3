/** The screen of a tail in Ink. Loaded only when it is shown: ink and react are heavy. */
import { Box, type RenderOptions, render, Text, useApp, useInput, usePaste, useWindowSize } from 'ink'
import { useSyncExternalStore } from 'react'
import { oneLine, type Style, streamText } from '../cli/output/terminal.ts'
import { actionOf, type Effect, type Key, keysOf, pasteActionOf } from './keys.ts'
import { framesPerSecond, type TailAction, type TailStore } from './model.ts'
import { pageOf, screenLines } from './screen.ts'

interface TailScreenProps {
  store: TailStore
  base_url(): string
  style: Style
  onAction(action: TailAction | Effect): void
  onInterrupt(): void
  /** Stops the process until it is continued. */
  onSuspend(): void
}

/** Draws the tail over the whole terminal. Resolves when `signal` is aborted and the terminal is restored. */
export async function showTail(
  props: TailScreenProps,
  signal: AbortSignal,
  streams: Pick<RenderOptions, 'stdin' | 'stdout'> = {},
): Promise<void> {
  const screen = render(<TailScreen {...props} />, {
    ...streams,
    alternateScreen: true,
    exitOnCtrlC: false,
    incrementalRendering: true,
    interactive: true,
    maxFps: framesPerSecond,
    patchConsole: false,
  })
  const stop = () => screen.unmount()
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  await screen.waitUntilExit()
}

/** One row stays free, so that the terminal never scrolls. */
function TailScreen({ store, base_url, style, onAction, onInterrupt, onSuspend }: TailScreenProps) {
  const state = useSyncExternalStore(store.subscribe, store.state)
  const { suspendTerminal } = useApp()
  const { columns, rows } = useWindowSize()
  const size = { columns: columns - 1, rows: rows - 1 }
  const press = (key: Key) => {
    const action = actionOf(store.state(), key, pageOf(store.state(), size))
    if (action !== null) onAction(action)
  }
  useInput((text, key) => {
    if (key.ctrl && text === 'c') onInterrupt()
    else if (key.ctrl && text === 'z') void suspendTerminal(async () => onSuspend())
    else for (const pressed of keysOf(text, key)) press(pressed)
  })
  usePaste((text) => onAction(pasteActionOf(store.state(), text)))
  const { head, body, foot } = screenLines(state, base_url(), size, style)
  return (
    <Box flexDirection="column" width={size.columns} height={size.rows}>
      <Lines lines={head} height={head.length} />
      <Lines lines={body} height={pageOf(state, size)} />
      <Text wrap="truncate">{terminalText(foot)}</Text>
    </Box>
  )
}

/** Ink writes to the terminal by itself, past the guard of the host's streams. */
const terminalText = (line: string) => streamText(oneLine(line), true)

/** Styled lines, cut where they are too long. */
function Lines({ lines, height }: { lines: readonly string[]; height: number }) {
  return (
    <Box flexDirection="column" height={height} overflow="hidden">
      {lines.slice(0, height).map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place on the screen
        <Text key={index} wrap="truncate">
          {line === '' ? ' ' : terminalText(line)}
        </Text>
      ))}
    </Box>
  )
}
