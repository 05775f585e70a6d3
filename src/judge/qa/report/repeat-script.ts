/** The script that repeats a failed request of a case. */
import type { CaseExchange, CaseResult } from '../result.ts'

/** How a case got the key of its project, where that is not the first one of the sandbox. */
export interface KeySource {
  /** The command whose response contains the key. */
  curl: string
  field: 'key' | 'secret_key'
}

interface ScriptOptions {
  key: KeySource | null
  /** How commands begin: `npx --no svc-sandbox`. */
  command_name: string
}

/** Tokens by the variable that stands for them in commands; results contain them redacted. */
const tokenFields = { ASSET_TOKEN: 'asset_token', ACTIVATION_TOKEN: 'activation_token', BEACON_TOKEN: 'beacon_token' }
/** Identifiers that the sandbox generates: another sandbox has others. */
const identifier = /"(\w+)":"((?:slot|job|key|fault)_\w+)"/g
/** Epoch milliseconds. */
const timestamp = /(?<![\w.])\d{13}(?![\w.])/g

/**
 * Replaces the command of the exchange that each failed step of a case ended with by a script that repeats it. The sandbox of
 * a run with `--fresh` has ended: the script starts another, sends what the case sent before, takes keys, tokens and
 * identifiers from the responses, and moves times to now.
 */
export function makeRepeatable({ steps, started_at_ms }: CaseResult, options: ScriptOptions): void {
  const all = steps.flatMap(({ exchanges }) => exchanges)
  const commands = all.map(({ curl }) =>
    curl.replace(timestamp, (time) => `'"$((NOW_MS + ${Number(time) - started_at_ms}))"'`),
  )
  for (const { outcome, exchanges } of steps) {
    const failed = exchanges.at(-1)
    if (outcome !== 'failed' || failed === undefined) continue
    failed.curl = writeScript(all.slice(0, all.indexOf(failed) + 1), commands, options)
  }
}

/** Returns the script whose last command is that of the last exchange. */
function writeScript(
  exchanges: readonly CaseExchange[],
  commands: readonly string[],
  { key, command_name }: ScriptOptions,
) {
  const lines = key === null ? [] : captureLines(key.curl, { SVC_SECRET_KEY: key.field })
  /** Variables by the identifiers that they stand for. */
  const names = new Map<string, string>()
  for (const [index, { method, url, response_body }] of exchanges.entries()) {
    const command = [...names].reduce((text, [id, name]) => text.replaceAll(id, `'"$${name}"'`), commands[index]!)
    const later = commands.slice(index + 1, exchanges.length).join('\n')
    const fields: Record<string, string> = {}
    for (const [name, field] of Object.entries(tokenFields)) {
      if (later.includes(`$${name}`) && response_body?.includes(`"${field}":"`)) fields[name] = field
    }
    for (const [, field = '', id = ''] of response_body?.matchAll(identifier) ?? []) {
      if (!later.includes(id) || names.has(id)) continue
      const name = `${field.toUpperCase()}_${names.size + 1}`
      names.set(id, name)
      fields[name] = field
    }
    if (index === exchanges.length - 1) lines.push(command)
    else if (Object.keys(fields).length > 0) lines.push(...captureLines(command, fields))
    // Of what is only read, loading a frame makes a difference to its beacons.
    else if (method !== 'GET' || url.includes('/v1/render/')) lines.push(`${command} > /dev/null`)
  }
  const usesTime = lines.some((line) => line.includes('NOW_MS'))
  const start = [`${command_name} exec -q -- sh <<'EOF'`, ...(usesTime ? ['NOW_MS=$(date +%s)999'] : [])]
  return [...start, ...lines, 'EOF'].join('\n')
}

/** Returns the lines that send a request and store fields of its JSON in variables. */
function captureLines(command: string, fields: Readonly<Record<string, string>>): string[] {
  const reads = Object.entries(fields).map(
    ([name, field]) => `${name}=$(printf '%s' "$RESPONSE" | sed -n 's/.*"${field}":"\\([^"]*\\)".*/\\1/p' | head -n 1)`,
  )
  return [`RESPONSE=$(${command})`, ...reads]
}
