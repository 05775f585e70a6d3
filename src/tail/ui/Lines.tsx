import { Box, Text } from 'ink'

/** Lines as they are, painted already; what is too long is cut. */
export function Lines({ lines, height }: { lines: readonly string[]; height: number }) {
  return (
    <Box flexDirection="column" height={height} overflow="hidden">
      {lines.slice(0, height).map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place on the screen
        <Text key={index} wrap="truncate">
          {line === '' ? ' ' : line}
        </Text>
      ))}
    </Box>
  )
}
