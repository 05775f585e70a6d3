/** What the code product suggests: files as unified diffs, ` ` kept, `-` removed, `+` added. */
import type { Prompt } from './surface.ts'

export interface Suggestion {
  file: string
  diff: string
  note: string
}

export const codePrompts: readonly (Prompt & { suggestion: Suggestion })[] = [
  {
    label: 'Retry with back-off',
    text: 'Retry failed requests three times with back-off, but never a 4xx',
    topic: 'typescript',
    suggestion: {
      file: 'src/fetch-invoice.ts',
      diff: `
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
 }`,
      note: 'Three tries, 4.2 s in the worst case. A 4xx is the caller’s mistake and throws at once, with its status.',
    },
  },
  {
    label: 'Use the index',
    text: 'This query takes two seconds. Make it use the index on placed_at',
    topic: 'sql',
    suggestion: {
      file: 'reports/daily-orders.sql',
      diff: `
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
+limit 500;`,
      note: 'A function around `placed_at` hides it from the index. A half-open range asks the same and can be looked up.',
    },
  },
  {
    label: 'Write the missing test',
    text: 'Write a test for amounts with thousands separators',
    topic: 'testing',
    suggestion: {
      file: 'test/parse-amount.test.ts',
      diff: `
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
+})`,
      note: 'Covers groups, sign and the one malformed case that used to slip through.',
    },
  },
]

export const codeFallback: Suggestion = {
  file: 'src/price.ts',
  diff: `
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
+}`,
  note: 'A scripted suggestion: this demo has no model. The placement beside it went the real way.',
}
