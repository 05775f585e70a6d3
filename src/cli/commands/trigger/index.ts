/** `svc trigger`: plays whole turns over HTTP, as an integration would, and prints each step. */
import { setTimeout as wait } from 'node:timers/promises'
import { Argument, InvalidArgumentError, Option } from 'commander'
import { countFromOne } from '#cli/endpoint/option-values.ts'
import type { Command, CommandContext, CommandInput } from '#cli/run/command.ts'
import { isProductionKey } from '#client/exchange.ts'
import { type Format, formats } from '#contract/facts/formats.ts'
import { CliError, exitCodes } from '#text/cli-error.ts'
import { type Column, paintDim, paintStatus, printTable } from '#text/table.ts'
import { cutText, padEnd, plural } from '#text/text.ts'
import { type TriggerScenario, triggerScenarios } from './scenarios.ts'
import { type Page, type Step, startTurn } from './turn.ts'

const names = [...triggerScenarios.map(({ name }) => name), 'all']

const columns: readonly Column[] = [
  { name: 'scenario', field: 'name', kind: 'id' },
  { name: 'format', rank: 2, paint: paintDim },
  { name: 'what', kind: 'prose' },
]

type TriggerOptions = { list?: true; repeat?: number; rate?: number; format?: Format }

export const trigger: Command = {
  name: 'trigger',
  summary: 'Play a whole turn: activation, placement, frame, beacons, verdict',
  details:
    'Sends what an integration sends, over HTTP, and prints each step with its identifiers. Without a scenario: a normal turn of each format. Nothing waits: each beacon has the time that it would have in a real turn. Scenarios remove the faults that they add, and restore the settings that they change; expired moves the sandbox clock by 2 ms. List them with --list. Exit code 5 if a step does not go as the scenario says.',
  arguments: [
    new Argument('[scenario]', 'what to play; all: every scenario; default: banner, clip and native').choices(names),
  ],
  options: [
    new Option('--list', 'list the scenarios'),
    new Option('--format <format>', 'format for scenarios that play any; default: banner').choices(formats),
    new Option('--repeat <n>', 'play it this many times; default: once').argParser(countFromOne),
    new Option('--rate <turns>', 'at most this many turns a second: 2, 0.5; default: one after the other').argParser(
      rate,
    ),
  ],
  tables: [columns],
  examples: [
    'trigger',
    'trigger too_short --format clip',
    'trigger banner --repeat 3 --rate 5 -o jsonl',
    'trigger --list',
  ],
  async run(context, { args: [name], options }: CommandInput<TriggerOptions>) {
    if (options.list === true) return list(context)
    const { repeat = 1, rate, format = 'banner' } = options
    const wanted = triggerScenarios.filter((each) =>
      name === undefined ? formats.some((format) => format === each.name) : name === 'all' || each.name === name,
    )
    const { sandbox, secret_key } = context.settings
    if (secret_key !== null && isProductionKey(secret_key)) {
      const hint = 'Use a key that begins with sk_test_.'
      throw new CliError(
        'credentials',
        'production_key',
        'Nothing was sent. Turns are only played with a test key.',
        hint,
      )
    }
    const played = wanted.filter(({ needsSandbox }) => needsSandbox === undefined || sandbox !== null)
    if (played.length === 0) {
      const message = `${name} needs the control plane of a sandbox on this computer.`
      throw new CliError('usage', 'sandbox_needed', message, 'Start one: svc start')
    }
    return play(context, played, { repeat, format, pause_ms: rate === undefined ? 0 : 1_000 / rate })
  },
}

async function play(
  context: CommandContext,
  scenarios: readonly TriggerScenario[],
  { repeat, format, pause_ms }: { repeat: number; format: Format; pause_ms: number },
): Promise<number> {
  const { system, out, settings, signal } = context
  const now = async () =>
    settings.sandbox === null ? system.now() : (await context.client().clock.show({}, { signal })).now_ms
  const failed: Step[] = []
  const page: Page = { client: null }
  let turn = 0
  let steps = 0
  for (let round = 0; round < repeat; round++) {
    for (const scenario of scenarios) {
      const started = performance.now()
      const of = scenario.format ?? format
      turn++
      const onStep = (step: Step) => {
        steps++
        if (!step.ok) failed.push(step)
        out.item(step, (style) => stepLines(step, scenario, style))
      }
      await scenario.play(startTurn(context, { scenario: scenario.name, turn, now, page }, onStep), of)
      const rest_ms = pause_ms - (performance.now() - started)
      const isLast = round === repeat - 1 && scenario === scenarios.at(-1)
      if (rest_ms > 0 && !isLast) await wait(rest_ms, undefined, { signal }).catch(() => signal.throwIfAborted())
      signal.throwIfAborted()
    }
  }
  const outcome = failed.length === 0 ? 'all as expected' : `${failed.length} not as expected`
  out.note(`${plural(turn, 'turn')}, ${plural(steps, 'step')}, ${outcome}.`)
  return failed.length === 0 ? exitCodes.ok.exit_code : exitCodes.expectation.exit_code
}

const widths = { step: 22, result: 22 }

/** Returns the line of a step, preceded by the line of its turn for the first one. */
function stepLines(step: Step, { name, what }: TriggerScenario, style: CommandContext['out']['style']): string[] {
  const { ok, status, result, slot_id, beacon_id, request_id } = step
  const id = beacon_id ?? (step.step === 'placement' ? '' : (slot_id ?? ''))
  const head = heads.get(style) === step.turn ? [] : [`${style.bold(name)}  ${style.dim(what)}`]
  heads.set(style, step.turn)
  const mark = ok ? style.green('✓') : style.red('✗')
  const isNew = step.step === 'placement' && slot_id !== null
  const shownResult = isNew ? `${result}  ${slot_id}` : result
  const line = [
    `  ${mark} ${padEnd(cutText(step.step, widths.step), widths.step)}`,
    paintStatus(String(status), style),
    padEnd(shownResult, widths.result),
  ].join(' ')
  const room =
    (style.columns ?? Number.POSITIVE_INFINITY) -
    (4 + widths.step + 1 + 4 + Math.max(widths.result, shownResult.length) + 1)
  const ids = [...new Set([request_id ?? '', id])].filter((each) => each !== '')
  const shown = ids.filter((_, index) => ids.slice(0, index + 1).join('  ').length <= room)
  return [...head, `${line} ${style.dim(shown.join('  '))}`.trimEnd()]
}

/** The turn whose heading was printed last, by the style of the output. */
const heads = new WeakMap<object, number>()

function list({ out }: CommandContext): number {
  const items = triggerScenarios.map(({ name, what, format }) => ({ name, format: format ?? 'any', what }))
  printTable(out, columns, { whole: { items }, items })
  return 0
}

function rate(text: string): number {
  const turns = Number(text)
  if (/^\d+(\.\d+)?$/.test(text) && turns > 0) return turns
  throw new InvalidArgumentError('It must be a number of turns a second, such as 2 or 0.5.')
}
