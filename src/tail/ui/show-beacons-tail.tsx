/** Draws the tail over the whole terminal. Loaded only when it is shown: ink and react are heavy. */
import { render } from 'ink'
import { BeaconsTail, type BeaconsTailProps } from '../BeaconsTail.tsx'
import { framesPerSecond } from '../store.ts'

/** Resolves when `signal` is aborted and the terminal is as it was found. */
export async function showBeaconsTail(props: BeaconsTailProps, signal: AbortSignal): Promise<void> {
  const screen = render(<BeaconsTail {...props} />, {
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
