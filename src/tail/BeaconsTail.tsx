import { Box, Text, useInput, useWindowSize } from 'ink'
import { useSyncExternalStore } from 'react'
import type { Style } from '../cli/output/style.ts'
import { type Key, type Wish, wishOf } from './keys.ts'
import { pageOf, screenLines } from './screen.ts'
import type { TailStore } from './store.ts'
import { keysOf } from './ui/keys-of.ts'
import { Lines } from './ui/Lines.tsx'

export interface BeaconsTailProps {
  store: TailStore
  base_url(): string
  style: Style
  onWish(wish: Wish): void
  onInterrupt(): void
}

/** The screen of `svc beacons tail`. One row stays free, so that the terminal never scrolls. */
export function BeaconsTail({ store, base_url, style, onWish, onInterrupt }: BeaconsTailProps) {
  const state = useSyncExternalStore(store.subscribe, store.state)
  const { columns, rows } = useWindowSize()
  const size = { columns: columns - 1, rows: rows - 1 }
  const press = (key: Key) => {
    const wish = wishOf(store.state(), key, pageOf(store.state(), size))
    if (wish !== null) onWish(wish)
  }
  useInput((text, key) => {
    if (key.ctrl && text === 'c') onInterrupt()
    else for (const pressed of keysOf(text, key)) press(pressed)
  })
  const { head, body, foot } = screenLines(state, base_url(), size, style)
  return (
    <Box flexDirection="column" width={size.columns} height={size.rows}>
      <Lines lines={head} height={head.length} />
      <Lines lines={body} height={pageOf(state, size)} />
      <Text wrap="truncate">{foot}</Text>
    </Box>
  )
}
