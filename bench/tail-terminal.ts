/** Runs `svc beacons tail` in a terminal of script(1), and reads the text of its screen. */
import { openScript } from '#tests/cli/script-terminal.ts'
import type { MeasuredServer } from './server.ts'

const size = { columns: 140, rows: 40 }
const lookMs = 10

export type TailTerminal = Awaited<ReturnType<typeof openScript>>

export function openTail({ url, home }: MeasuredServer, flags = ''): Promise<TailTerminal> {
  return openScript(`beacons tail ${flags} --base-url ${url}`, { SVC_HOME: home }, size)
}

/** The count of beacons at the top of the screen. */
export function shownBy(terminal: TailTerminal): number {
  const [, digits] = /^([\d ]+) beacons? /.exec(terminal.lines()[1] ?? '') ?? []
  return Number((digits ?? '0').replaceAll(' ', ''))
}

export function says(terminal: TailTerminal, text: string): boolean {
  return terminal.lines().some((line) => line.includes(text))
}

export async function quit(terminal: TailTerminal): Promise<void> {
  terminal.type('q')
  await until(() => says(terminal, 'code '))
  await terminal.close()
}

export async function until(isDone: () => boolean): Promise<void> {
  while (!isDone()) await new Promise((resolve) => setTimeout(resolve, lookMs))
}
