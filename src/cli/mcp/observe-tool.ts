/** The tool `observe`: judges the requests that the app under test sent, as `svc observe --since` does. */
import { z } from 'zod'
import { readJournal } from '#diagnosis/journal.ts'
import { judge } from '#diagnosis/observe.ts'
import { applyToVerdicts } from '#diagnosis/observe-file/verdicts.ts'
import { nothingChecked } from '#text/cli-error.ts'
import { readSince } from './since.ts'
import type { Tool } from './tool.ts'

/** The maximum number of exchanges that are judged. */
const limit = 1_000

export const observeTool: Tool = {
  name: 'observe',
  command: 'observe',
  title: 'Judge the requests of an integration by every rule',
  description:
    'What svc observe --since reports: each rule that the app under test broke, with what it costs, the fix and its requests. Call it after the app has run. What svc.observe.yaml accepts or turns off is left out. A page in a browser is judged by the command only: svc observe --url.',
  effect: 'reads',
  isIdempotent: true,
  input: z.strictObject({
    since: z.string().max(40).optional().describe('Only requests since then: 10m, a time, or epoch milliseconds.'),
  }),
  output: z.strictObject({
    requests: z.int().min(1).describe('How many were judged.'),
    findings: z.array(
      z.strictObject({
        rule: z.string(),
        level: z.enum(['error', 'warning']),
        message: z.string(),
        fix: z.string(),
        costs: z.string().optional(),
        requests: z.array(z.string()),
      }),
    ),
    accepted: z.array(z.string()).describe('Rules whose findings svc.observe.yaml accepts.'),
    off: z.array(z.string()).describe('Rules that svc.observe.yaml turns off.'),
    file_findings: z.array(z.string()).describe('What is wrong with svc.observe.yaml: entries that no longer hold.'),
    holds: z.array(z.string()).describe('Rules that hold.'),
    not_seen: z.array(z.string()).describe('Rules for which there was nothing to judge.'),
  }),
  narrower: 'Give since.',
  async call(access, { since }) {
    const client = await access.client()
    const about = { client_id: await access.clientId(), command_name: access.command_name }
    const from = since === undefined ? undefined : readSince(String(since))
    const journal = await readJournal(client, await client.sandbox.info(), { since: from, limit }, about)
    if (journal.exchanges.length === 0) {
      const message = `Nothing was judged: no request of the app${since === undefined ? '' : ' since then'}; ${journal.own_requests} of svc itself are left out.`
      throw nothingChecked(message, 'Run the app against the sandbox, then call this again.')
    }
    const watched = { ...journal, is_ended: true, is_whole: false, page: null }
    const file = (await access.local?.observeFile()) ?? null
    const { verdicts, applied } = applyToVerdicts(judge(watched), watched, file, access.now())
    const named = (wanted: string) =>
      verdicts
        .filter(({ standing, rule }) => standing === wanted && rule.facts === 'journal')
        .map(({ rule }) => rule.id)
    return {
      requests: journal.exchanges.length,
      findings: verdicts.flatMap(({ rule, standing, findings }) =>
        findings.map(({ message, fix = rule.fix, requests = [] }) => ({
          rule: rule.id,
          level: standing,
          message,
          fix,
          costs: rule.costs,
          requests: requests.map(({ request_id }) => request_id),
        })),
      ),
      accepted: named('accepted'),
      off: named('off'),
      file_findings: applied.findings.map(({ line, message }) => `${file?.path}:${line}: ${message}`),
      holds: named('holds'),
      not_seen: named('not_seen'),
    }
  },
}
