/** What the agent product does: tool calls with what they found, and a report at the end. Durations in milliseconds. */
import type { IconName } from '../icons.ts'
import type { Prompt } from './surface.ts'

export interface Step {
  icon: IconName
  tool: string
  input: string
  output: string
  takes_ms: number
}

export interface Run {
  plan: string
  steps: readonly Step[]
  report: { title: string; text: string; rows: readonly (readonly string[])[]; end: string }
}

export const agentPrompts: readonly (Prompt & { run: Run })[] = [
  {
    label: 'Triage last night’s alerts',
    text: 'Go through last night’s alerts and tell me which one needs a person',
    topic: 'monitoring',
    run: {
      plan: 'Read the alerts, group them by cause, check what changed before each group, then decide.',
      steps: [
        { icon: 'list', tool: 'alerts.read', input: 'since 22:00', output: '37 alerts from 6 services', takes_ms: 900 },
        { icon: 'table', tool: 'alerts.group', input: 'by first failing span', output: '3 causes', takes_ms: 700 },
        {
          icon: 'code',
          tool: 'deploys.list',
          input: '21:30 to 06:00',
          output: '2 deploys, 1 flag change',
          takes_ms: 800,
        },
        {
          icon: 'terminal',
          tool: 'logs.search',
          input: 'checkout, 02:10 to 02:40',
          output: '214 timeouts to the price cache',
          takes_ms: 1_100,
        },
        { icon: 'pen', tool: 'report.write', input: 'one page', output: '3 findings', takes_ms: 700 },
      ],
      report: {
        title: 'One cause needs a person',
        text: '**37 alerts come down to three causes.** Two of them have healed; one will be back tonight.',
        rows: [
          ['Cause', 'Alerts', 'State'],
          ['Price cache evicts at 02:00', '29', 'Returns daily'],
          ['Slow restart of search', '6', 'Healed'],
          ['Certificate probe, wrong host', '2', 'Muted'],
        ],
        end: 'Raise the cache’s memory limit or move the nightly import. The flag change at 01:55 is not related.',
      },
    },
  },
  {
    label: 'A quiet weekend by the sea',
    text: 'Find a quiet place by the sea for two nights, under three hours by train',
    topic: 'travel',
    run: {
      plan: 'List towns within reach, drop the busy ones, check rooms and trains, then compare three.',
      steps: [
        {
          icon: 'search',
          tool: 'trains.reach',
          input: 'under 3 h, Friday after 15:00',
          output: '11 towns on the coast',
          takes_ms: 1_000,
        },
        { icon: 'table', tool: 'places.rank', input: 'quiet, walkable', output: '4 towns left', takes_ms: 700 },
        {
          icon: 'window',
          tool: 'rooms.search',
          input: '2 nights, 2 people',
          output: '17 rooms, 6 with a sea view',
          takes_ms: 1_100,
        },
        {
          icon: 'page',
          tool: 'weather.outlook',
          input: 'Friday to Sunday',
          output: 'dry until Sunday noon',
          takes_ms: 600,
        },
        { icon: 'pen', tool: 'report.write', input: 'three options', output: 'ready', takes_ms: 600 },
      ],
      report: {
        title: 'Three places, one favourite',
        text: '**Saltby is the quietest**, and the only one where you need no bus from the station.',
        rows: [
          ['Place', 'Train', 'Two nights'],
          ['Saltby, harbour house', '2 h 10 min', '238'],
          ['Greyness, over the bakery', '2 h 45 min', '196'],
          ['Tern Point, lighthouse room', '2 h 55 min', '274'],
        ],
        end: 'The 16:04 train has quiet seats left. Nothing is booked until you say so.',
      },
    },
  },
  {
    label: 'Make the build faster',
    text: 'Find out why our build takes twelve minutes and propose the cheapest fix',
    topic: 'deployment',
    run: {
      plan: 'Take the timings of fifty builds, find the longest chain, then test one change at a time.',
      steps: [
        { icon: 'list', tool: 'builds.timings', input: 'last 50 on main', output: 'median 12 min 4 s', takes_ms: 900 },
        {
          icon: 'table',
          tool: 'graph.critical_path',
          input: 'job dependencies',
          output: 'install, compile, browser tests',
          takes_ms: 800,
        },
        {
          icon: 'terminal',
          tool: 'shell.run',
          input: 'compile with a warm cache',
          output: '3 min 10 s less',
          takes_ms: 1_200,
        },
        {
          icon: 'terminal',
          tool: 'shell.run',
          input: 'browser tests on 4 workers',
          output: '2 min 40 s less',
          takes_ms: 1_100,
        },
        { icon: 'pen', tool: 'report.write', input: 'cheapest first', output: 'ready', takes_ms: 600 },
      ],
      report: {
        title: 'Six minutes for two lines',
        text: '**The compile cache is thrown away by every build**: its key holds the commit.',
        rows: [
          ['Change', 'Saves', 'Effort'],
          ['Key the cache by lock file', '3 min 10 s', '1 line'],
          ['Four workers for browser tests', '2 min 40 s', '1 line'],
          ['Split install from compile', '0 min 20 s', 'Not worth it'],
        ],
        end: 'Both changes together bring the median to 6 min 14 s. I have not pushed anything.',
      },
    },
  },
]

export const agentFallback: Run = {
  plan: 'This demo has no model: the steps are scripted. The turn around them is a real one.',
  steps: [
    { icon: 'search', tool: 'goal.read', input: 'your words', output: 'kept on this machine', takes_ms: 700 },
    { icon: 'table', tool: 'plan.make', input: '3 steps', output: 'scripted', takes_ms: 700 },
    { icon: 'pen', tool: 'report.write', input: 'short', output: 'ready', takes_ms: 700 },
  ],
  report: {
    title: 'What really happened',
    text: '**One placement was requested** for this run, between the steps and this report.',
    rows: [
      ['Part', 'Where it ran'],
      ['Steps and report', 'Scripted, on this page'],
      ['Placement and decision', 'The sandbox'],
      ['Beacons', 'From this page to the sandbox'],
    ],
    end: 'The timeline has every one of them, with its verdict.',
  },
}
