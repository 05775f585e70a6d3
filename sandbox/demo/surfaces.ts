/**
 * The five products of the demo, as data: how each looks and paces itself, where its slot is, and its script. All of
 * them are played by the same components (product.ts, canvases.ts). The file is long because it is the content.
 */
import type { JobType, NativeTemplateId, SlotHint } from '../../src/contract/fields.ts'
import type { IconName } from './elements.ts'
import { parseScript, type Script } from './script.ts'

/** What a product is doing. */
export type State = 'idle' | 'listening' | 'thinking' | 'answering'

export interface Surface {
  /** The invented product. */
  product: string
  tagline: string
  placeholder: string
  /** Label of the button that asks. */
  ask: string
  hue: number
  /** Lightness of its colour on light paper, percent; 34 unless the hue is a bright one. */
  depth?: number
  /** What it works on besides text. */
  canvas: 'editor' | 'gallery' | 'wave' | null
  /** The part that scrolls, with its name for screen readers. */
  scrolls: ['body' | 'thread' | 'canvas', label: string]
  /** Whether earlier turns stay above the newest one. */
  keepsHistory: boolean
  slot: SlotPlan
  /** The native template that suits it, on a phone and on a desk. */
  template: { narrow: NativeTemplateId; wide: NativeTemplateId }
  /** Milliseconds: per word of a question that is spoken, before the answer, per word of the answer. */
  pace: { question_ms?: number; thinking_ms: number; word_ms: number }
  /** What it shows while it is in a state. */
  states: Partial<Record<State, [icon: IconName | 'dots' | null, text: string]>>
  script: Script
}

/** Where the slot is and how much of the product it may take. Lengths in CSS pixels. */
export interface SlotPlan {
  /** `inline` and `between` move with the turn, the others have a fixed place. */
  position: NonNullable<SlotHint['position']>
  max_height: number
  /** A strip suits better than a box where text runs. */
  banner_max_height?: number
  /** Maximum share of the window's height, unless the slot stands beside the content. */
  share: number
}

const chat: Surface = {
  product: 'Quillmoor',
  tagline: 'An assistant with patience',
  placeholder: 'Ask anything',
  ask: 'Send',
  hue: 236,
  canvas: null,
  scrolls: ['thread', 'Conversation'],
  keepsHistory: true,
  slot: { position: 'inline', max_height: 400, banner_max_height: 100, share: 0.6 },
  template: { narrow: 'list_item', wide: 'list_item' },
  pace: { thinking_ms: 700, word_ms: 26 },
  states: { thinking: ['dots', 'Quillmoor is writing'] },
  script: parseScript(`
# Better espresso at home [espresso]
> My espresso runs through in fifteen seconds and tastes sour. What should I change first?
Fifteen seconds is fast, and sour is what fast tastes like: the water leaves before it has taken the sugars along. **Grind finer first**, and change nothing else.
- **Dose** 18 g in, and weigh it. A spoon is off by a gram or two.
- **Grind** one step finer, until 36 g come out in 25 to 30 seconds.
- **Distribute** with a thin needle before you tamp. Clumps make channels.
- **Temperature** last: 93 °C for a medium roast, a degree more for a light one.
If it turns bitter, you went one step too far. Beans matter as much as the grinder: look for a roast date within the last three weeks, not a best-before date.

# First 10 km in eight weeks [running]
> I can run three kilometres without stopping. How do I get to ten in eight weeks?
Three runs a week are enough, as long as two of them feel too slow. **Most of the work is easy running**: you should be able to speak in sentences.
- **Weeks 1 and 2**: 3 km, 3 km and a long run of 4 km.
- **Weeks 3 to 5**: add one kilometre to the long run each week.
- **Week 6**: half of everything. Rest is when you get fitter.
- **Weeks 7 and 8**: 8 km, then 10 km, at the same easy pace.
If a knee complains for more than two days, repeat the week. Nothing is lost by that.

# كتاب مسموع للمساء [books]
> أوصني بكتاب مسموع هادئ لأمسيات الشتاء
لأمسيات الشتاء أقترح **حكايات قصيرة** بصوت راوٍ واحد: تنتهي الواحدة منها قبل أن يغلبك النوم، ولا تضطر إلى تذكّر أسماء كثيرة في الليلة التالية.
- **حكايات شعبية** بالفصحى المبسّطة، نصف ساعة لكل حكاية.
- **سيرة رحّالة** قديم: إيقاع بطيء وأماكن بعيدة.
- **رواية رسائل**: فصول قصيرة وصوتان متناوبان.
اضبط مؤقّت النوم على عشرين دقيقة، وخفّض السرعة قليلًا.

# Anything else
This is a demo host: **there is no model behind it**, and your words never leave this machine. The turn around this answer is real, though.
- Your prompt went to this page’s backend, which requested a placement from the sandbox with its secret key.
- Your words are used for matching only while consent for that is granted.
- The timeline shows the request, the decision and every beacon of this turn.
`),
}

const code: Surface = {
  product: 'Codewold',
  tagline: 'Suggestions you can read',
  placeholder: 'Describe a change',
  ask: 'Suggest',
  hue: 172,
  depth: 26,
  canvas: 'editor',
  scrolls: ['canvas', 'Editor'],
  keepsHistory: false,
  slot: { position: 'below', max_height: 280, banner_max_height: 100, share: 0.36 },
  template: { narrow: 'minimal', wide: 'minimal' },
  pace: { thinking_ms: 900, word_ms: 26 },
  states: { thinking: [null, 'Reading the file'], answering: [null, 'Writing'] },
  script: parseScript(`
# Retry with back-off [typescript]
> Retry failed requests three times with back-off, but never a 4xx
~~~ src/fetch-invoice.ts
 import type { Invoice } from './invoice.ts'
 import { wait } from './wait.ts'

+const backoff_ms = [200, 800, 3_200]
+
 export async function fetchInvoice(id: string): Promise<Invoice> {
-  const response = await fetch(\`/api/invoices/\${id}\`)
-  if (!response.ok) throw new Error('request failed')
-  return response.json()
+  for (let tries = 0; ; tries++) {
+    const response = await fetch(\`/api/invoices/\${id}\`)
+    if (response.ok) return response.json()
+    const delay = backoff_ms[tries]
+    if (response.status < 500 || delay === undefined) {
+      throw new InvoiceError(id, response.status)
+    }
+    await wait(delay)
+  }
 }

 export async function fetchInvoices(ids: string[]) {
   return Promise.all(ids.map(fetchInvoice))
 }
~~~
Three tries, 4.2 s in the worst case. A 4xx is the caller’s mistake and throws at once, with its status.

# Use the index [sql]
> This query takes two seconds. Make it use the index on placed_at
~~~ reports/daily-orders.sql
 -- Orders of one day, with their totals.
 select o.id, o.customer_id, sum(l.amount) as total
 from orders o
 join order_lines l on l.order_id = o.id
-where date(o.placed_at) = :day
+where o.placed_at >= :day
+  and o.placed_at < :day + interval '1 day'
 group by o.id, o.customer_id
-order by total desc;
+order by total desc
+limit 500;
~~~
A function around \`placed_at\` hides it from the index. A half-open range asks the same and can be looked up.

# Write the missing test [testing]
> Write a test for amounts with thousands separators
~~~ test/parse-amount.test.ts
 import { expect, test } from 'suite'
 import { parseAmount } from '../src/parse-amount.ts'

 test('reads whole numbers', () => {
   expect(parseAmount('1200')).toBe(120_000)
 })
+
+test.each([
+  ['1,200.50', 120_050],
+  ['12,345,678.09', 1_234_567_809],
+  ['-3,000', -300_000],
+])('reads %s as %i cents', (text, cents) => {
+  expect(parseAmount(text)).toBe(cents)
+})
+
+test('refuses a separator in the wrong place', () => {
+  expect(() => parseAmount('12,00.5')).toThrow(RangeError)
+})
~~~
Covers groups, sign and the one malformed case that used to slip through.

# Anything else
~~~ src/price.ts
 export interface Price {
   amount: number
   currency: string
 }

-export function format(price: Price) {
-  return price.currency + ' ' + price.amount / 100
+const forms = new Map<string, Intl.NumberFormat>()
+
+export function format({ amount, currency }: Price): string {
+  const form = forms.get(currency) ?? newForm(currency)
+  return form.format(amount / 100)
 }
+
+function newForm(currency: string): Intl.NumberFormat {
+  const form = new Intl.NumberFormat('en', { style: 'currency', currency })
+  forms.set(currency, form)
+  return form
+}
~~~
A scripted suggestion: this demo has no model. The placement below it is real.
`),
}

const image: Surface = {
  product: 'Ochrelle',
  tagline: 'Pictures from a sentence',
  placeholder: 'Describe a picture',
  ask: 'Generate',
  hue: 24,
  canvas: 'gallery',
  scrolls: ['body', 'Gallery'],
  keepsHistory: false,
  slot: { position: 'sidebar', max_height: 460, share: 0.8 },
  template: { narrow: 'list_item', wide: 'card' },
  pace: { thinking_ms: 0, word_ms: 26 },
  states: {},
  script: parseScript(`
# Ridges at first light [photography]
> Mountain ridges at first light over still water, soft haze
! ridges

# Paper city at night [design]
> A city at night cut out of layered paper, lit windows
! city

# Pressed wild flowers [houseplants]
> Pressed wild flowers on old paper, botanical plate
! botanical

# Anything else
! any
`),
}

const voice: Surface = {
  product: 'Vesperine',
  tagline: 'Talk it over',
  placeholder: 'Say it in writing',
  ask: 'Say it',
  hue: 282,
  canvas: 'wave',
  scrolls: ['thread', 'Transcript'],
  keepsHistory: true,
  slot: { position: 'sidebar', max_height: 460, share: 0.45 },
  template: { narrow: 'list_item', wide: 'card' },
  pace: { question_ms: 110, thinking_ms: 700, word_ms: 120 },
  states: {
    idle: ['voice', 'Ready'],
    listening: ['mic', 'Listening'],
    thinking: ['voice', 'Thinking'],
    answering: ['voice', 'Speaking'],
  },
  script: parseScript(`
# How do I order in Lisbon? [languages]
> How do I order a coffee in Lisbon without pointing at it?
Say “uma bica, por favor” for a small, strong one, or “um galão” if you want it long and milky. You will hear “mais alguma coisa?” — that means anything else. Answer “é tudo, obrigado” if you are a man, “obrigada” if you are a woman. Shall we practise it once?

# Something to listen to [podcasts]
> I have forty minutes on the train. Find me something to listen to.
Forty minutes fits one long story. I would take the lighthouse one: a ledger, a missing winter, told in a single walk along the coast. It is thirty-eight minutes, so you will hear the end before your stop. I can start it as soon as you put your headphones on.

# Help me fall asleep [sleep]
> Help me fall asleep. No music.
All right. Put the phone face down. Breathe in while I count to four. Hold it for two. And out, slowly, for six. We will do that eight times, and I will get quieter each time. If you are still awake after that, I will tell you about a town where nothing ever happens.

# Anything else
I am a demo, so I can only pretend to listen: nothing is recorded, and nothing leaves this machine. The card beside me is real, though. Your question was a turn, it requested a placement, and the timeline shows what happened to it.
`),
}

const agent: Surface = {
  product: 'Errandale',
  tagline: 'Runs errands, shows its work',
  placeholder: 'Give it a goal',
  ask: 'Run',
  hue: 205,
  canvas: null,
  scrolls: ['thread', 'Run'],
  keepsHistory: false,
  slot: { position: 'between', max_height: 380, banner_max_height: 100, share: 0.45 },
  template: { narrow: 'list_item', wide: 'list_item' },
  pace: { thinking_ms: 0, word_ms: 30 },
  states: {},
  script: parseScript(`
# Triage last night’s alerts [monitoring]
> Go through last night’s alerts and tell me which one needs a person
Read the alerts, group them by cause, check what changed before each group, then decide.
$ timeline alerts.read | since 22:00 | 37 alerts from 6 services | 900
$ table alerts.group | by first failing span | 3 causes | 700
$ code deploys.list | 21:30 to 06:00 | 2 deploys, 1 flag change | 800
$ terminal logs.search | checkout, 02:10 to 02:40 | 214 timeouts to the price cache | 1100
$ pen report.write | one page | 3 findings | 700
---
## One cause needs a person
**37 alerts come down to three causes.** Two of them have healed; one will be back tonight.
| Cause | Alerts | State
| Price cache evicts at 02:00 | 29 | Returns daily
| Slow restart of search | 6 | Healed
| Certificate probe, wrong host | 2 | Muted
Raise the cache’s memory limit or move the nightly import. The flag change at 01:55 is not related.

# A quiet weekend by the sea [travel]
> Find a quiet place by the sea for two nights, under three hours by train
List towns within reach, drop the busy ones, check rooms and trains, then compare three.
$ search trains.reach | under 3 h, Friday after 15:00 | 11 towns on the coast | 1000
$ table places.rank | quiet, walkable | 4 towns left | 700
$ product rooms.search | 2 nights, 2 people | 17 rooms, 6 with a sea view | 1100
$ page weather.outlook | Friday to Sunday | dry until Sunday noon | 600
$ pen report.write | three options | ready | 600
---
## Three places, one favourite
**Saltby is the quietest**, and the only one where you need no bus from the station.
| Place | Train | Two nights
| Saltby, harbour house | 2 h 10 min | 238
| Greyness, over the bakery | 2 h 45 min | 196
| Tern Point, lighthouse room | 2 h 55 min | 274
The 16:04 train has quiet seats left. Nothing is booked until you say so.

# Make the build faster [deployment]
> Find out why our build takes twelve minutes and propose the cheapest fix
Take the timings of fifty builds, find the longest chain, then test one change at a time.
$ timeline builds.timings | last 50 on main | median 12 min 4 s | 900
$ table graph.critical_path | job dependencies | install, compile, browser tests | 800
$ terminal shell.run | compile with a warm cache | 3 min 10 s less | 1200
$ terminal shell.run | browser tests on 4 workers | 2 min 40 s less | 1100
$ pen report.write | cheapest first | ready | 600
---
## Six minutes for two lines
**The compile cache is thrown away by every build**: its key holds the commit.
| Change | Saves | Effort
| Key the cache by lock file | 3 min 10 s | 1 line
| Four workers for browser tests | 2 min 40 s | 1 line
| Split install from compile | 0 min 20 s | Not worth it
Both changes together bring the median to 6 min 14 s. I have not pushed anything.

# Anything else
This demo has no model: the steps are scripted. The turn around them is real.
$ search goal.read | your words | kept on this machine | 700
$ table plan.make | 3 steps | scripted | 700
$ pen report.write | short | ready | 700
---
## What really happened
**One placement was requested** for this run, between the steps and this report.
| Part | Where it ran
| Steps and report | Scripted, on this page
| Placement and decision | The sandbox
| Beacons | From this page to the sandbox
The timeline shows every one of them, with its verdict.
`),
}

export const surfaces: Readonly<Record<JobType, Surface>> = { chat, code, image, voice, agent }
