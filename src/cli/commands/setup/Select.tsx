/** A question answered by choosing from a list with the arrow keys. Loaded only when asked. */
import { Box, type RenderOptions, render, Text, useInput, useStdin } from 'ink'
import { useEffect, useState } from 'react'
import { oneLine } from '#text/terminal.ts'

interface Choice {
  name: string
  summary: string
}

/** Asks on the terminal. Returns the chosen item, or null after Ctrl-C, Escape or an abort. */
export async function select<Item extends Choice>(
  title: string,
  items: readonly Item[],
  signal: AbortSignal,
  streams: Pick<RenderOptions, 'stdin' | 'stdout'> = {},
): Promise<Item | null> {
  let chosen: Item | null = null
  let input: NodeJS.ReadableStream | undefined
  const end = (item: Item | null, stdin: NodeJS.ReadableStream) => {
    chosen = item
    input = stdin
    screen.unmount()
  }
  // Ink draws nothing before the end if `CI` is set, which can be the case in a developer's container too.
  const screen = render(<Select title={title} items={items} onEnd={end} />, {
    ...streams,
    exitOnCtrlC: false,
    interactive: true,
    patchConsole: false,
  })
  const stop = () => screen.unmount()
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  await screen.waitUntilExit()
  // Ink lets the process end while it reads; after an answer another question may follow.
  if (chosen !== null) (input as unknown as NodeJS.ReadStream).ref()
  return chosen
}

interface SelectProps<Item> {
  title: string
  items: readonly Item[]
  onEnd(chosen: Item | null, stdin: NodeJS.ReadableStream): void
}

function Select<Item extends Choice>({ title, items, onEnd }: SelectProps<Item>) {
  const [index, setIndex] = useState(0)
  const [isChosen, setChosen] = useState(false)
  const { stdin } = useStdin()
  const width = Math.max(...items.map(({ name }) => name.length))
  useInput((text, key) => {
    const named = text === '' ? -1 : items.findIndex(({ name }, at) => name.startsWith(text) || String(at + 1) === text)
    if (key.escape || (key.ctrl && text === 'c')) onEnd(null, stdin)
    else if (key.return) setChosen(true)
    else if (key.upArrow || text === 'k') setIndex((at) => (at + items.length - 1) % items.length)
    else if (key.downArrow || text === 'j') setIndex((at) => (at + 1) % items.length)
    else if (named !== -1) setIndex(named)
  })
  // Once the keys that arrived with Enter have moved the index.
  useEffect(() => {
    if (isChosen) onEnd(items[index]!, stdin)
  }, [isChosen, index, items, onEnd, stdin])
  if (isChosen) return <Text>{oneLine(`${title}: ${items[index]!.name}`)}</Text>
  return (
    <Box flexDirection="column">
      <Text wrap="truncate">{oneLine(`${title} (up and down to move, Enter to choose):`)}</Text>
      {items.map(({ name, summary }, at) => (
        <Text key={name} wrap="truncate" inverse={at === index}>
          {oneLine(`${at === index ? '>' : ' '} ${at + 1}  ${name.padEnd(width)}  ${summary}`)}
        </Text>
      ))}
    </Box>
  )
}
