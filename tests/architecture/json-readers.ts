/**
 * JSON of others is read by `parseJson`, which has the limit of depth of the API: code that reads a value may recurse. These files parse
 * without it, each for a reason.
 */
import { isMember } from './rules.ts'
import { lineOf, type Source } from './source.ts'

const reasons: Readonly<Record<string, readonly string[]>> = {
  'our own file, or text that this process wrote': [
    ...['sandbox/console/view.ts', 'sandbox/fixtures.ts', 'sandbox/renderer/frame/main.ts'],
    ...[
      'sandbox/pipeline/files/assets.ts',
      'sandbox/pipeline/faults/faults.ts',
      'sandbox/pipeline/pages/console-actions.ts',
    ],
    ...['sandbox/operations/bundles/privacy.ts', 'sandbox/operations/placements/placement-explanation.ts'],
    ...['sandbox/operations/sandbox/contract.ts', 'sandbox/runtime/markets.ts', 'sandbox/services.ts'],
    ...[
      'sandbox/inspector/views/playground/PlaygroundResult.tsx',
      'src/cli/run/help.ts',
      'src/commands/sandbox/scenarios.ts',
    ],
    ...[
      'src/commands/sandbox/start.ts',
      'src/contract/openapi/document.ts',
      'src/mcp/resources.ts',
      'src/mcp/results/result-text.ts',
    ],
    ...[
      'src/mcp/results/results.ts',
      'src/qa/contract-compare/overrides.ts',
      'src/qa/report/html/script.ts',
      'src/qa/run/exchange.ts',
    ],
    ...['src/recordings/recorded-entry.ts', 'src/scaffold/project.ts', 'src/scaffold/templates.ts'],
  ],
  'a column of the store, which a request or an import filled within the limit': [
    ...[
      'sandbox/operations/consent-list.ts',
      'sandbox/operations/evidence/verification.ts',
      'sandbox/operations/requests.ts',
    ],
    ...['sandbox/runtime/replay.ts', 'sandbox/store/postgres/consent.ts', 'sandbox/store/postgres/sharing.ts'],
    'sandbox/store/postgres/copies/state-copy.ts',
  ],
  'a response of the sandbox, or a message of a browser that we started': [
    ...['sandbox/inspector/views/controls/DataControls.tsx', 'sandbox/inspector/views/placements/BundlePages.tsx'],
    ...['src/qa/browser/firefox.ts', 'src/qa/browser/host-page.ts', 'src/qa/run/control.ts'],
    'src/testing/testcontainers.ts',
  ],
  'known fields of it are read, and nothing walks through it': [
    ...[
      'src/client/browser.ts',
      'src/client/integration.ts',
      'src/contract/recordings/recording.ts',
      'src/hosts/passthrough.ts',
    ],
  ],
  'its depth was looked at before, or is by what validates it': [
    'src/foundation/exact-numbers.ts',
    'src/client/client.ts',
    'src/diagnosis/facts/beacon-file.ts',
  ],
  'one string': ['src/contract/recordings/json-strings.ts'],
  'the reader itself': ['src/foundation/json.ts'],
}
const reviewed: ReadonlySet<string> = new Set(Object.values(reasons).flat())

/** Readers of JSON without a limit of depth where nobody has said why. */
export function limitlessReaders(source: Source): string[] {
  return reviewed.has(source.path) ? [] : findReaders(source)
}

/** Files of the list that parse no JSON themselves any more. */
export function staleJsonReaders(sources: readonly Source[]): string[] {
  const present = new Set(sources.filter((source) => findReaders(source).length > 0).map(({ path }) => path))
  return [...reviewed].filter((path) => !present.has(path))
}

function findReaders({ path, text, nodes, imports }: Source): string[] {
  if (/\.test\.tsx?$/.test(path)) return []
  const calls = nodes.filter((node) => isMember(node, 'JSON', 'parse')).map(({ start }) => lineOf(text, start))
  const named = imports.filter(({ names }) => names?.includes('parseAnyJson')).map(({ line }) => line)
  const own = path === 'src/foundation/json.ts' ? [1] : []
  return [...calls, ...named, ...own].map(
    (line) => `${path}:${line} reads JSON of any depth: use parseJson, or list it`,
  )
}
