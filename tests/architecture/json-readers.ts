/**
 * JSON of others is read by `parseJson`, which has the limit of depth of the API: code that reads a value may recurse. These files parse
 * without it, each for a reason.
 */
import { isMember } from './rules.ts'
import { lineOf, type Source } from './source.ts'

const reasons: Readonly<Record<string, readonly string[]>> = {
  'our own file, or text that this process wrote': [
    ...['sandbox/pages/console/view.ts', 'sandbox/fixtures.ts', 'sandbox/pages/renderer/frame/main.ts'],
    ...[
      'sandbox/server/pipeline/files/assets.ts',
      'sandbox/server/pipeline/faults/faults.ts',
      'sandbox/server/pipeline/pages/console-actions.ts',
    ],
    ...['sandbox/rules/operations/bundles/privacy.ts', 'sandbox/rules/operations/placements/placement-explanation.ts'],
    ...['sandbox/rules/operations/sandbox/contract.ts', 'sandbox/rules/runtime/markets.ts', 'sandbox/services.ts'],
    ...[
      'sandbox/pages/inspector/views/playground/PlaygroundResult.tsx',
      'src/cli/run/help.ts',
      'src/cli/commands/sandbox/scenarios.ts',
    ],
    ...[
      'src/cli/commands/sandbox/start.ts',
      'src/core/contract/openapi/document.ts',
      'src/cli/mcp/resources.ts',
      'src/cli/mcp/results/result-text.ts',
    ],
    ...[
      'src/cli/mcp/results/results.ts',
      'src/judge/qa/contract-compare/overrides.ts',
      'src/judge/qa/report/html/script.ts',
      'src/judge/qa/run/exchange.ts',
    ],
    ...['src/cli/scaffold/project.ts', 'src/cli/scaffold/templates.ts'],
  ],
  'a column of the store, which a request or an import filled within the limit': [
    ...[
      'sandbox/rules/operations/consent-list.ts',
      'sandbox/rules/operations/evidence/verify-rows.ts',
      'sandbox/rules/operations/requests.ts',
    ],
    ...['sandbox/rules/runtime/replay.ts', 'sandbox/store/postgres/consent.ts', 'sandbox/store/postgres/sharing.ts'],
    'sandbox/store/postgres/copies/state-copy.ts',
  ],
  'a response of the sandbox, or a message of a browser that we started': [
    ...[
      'sandbox/pages/inspector/views/controls/DataControls.tsx',
      'sandbox/pages/inspector/views/placements/BundlePages.tsx',
    ],
    ...['src/judge/qa/browser/firefox.ts', 'src/judge/qa/browser/host-page.ts', 'src/judge/qa/run/control.ts'],
    'src/judge/testing/testcontainers.ts',
  ],
  'known fields of it are read, and nothing walks through it': [
    ...[
      'sandbox/pages/renderer/host/request.ts',
      'src/core/client/browser.ts',
      'src/core/client/integration.ts',
      'src/core/contract/recordings/recording.ts',
      'src/judge/hosts/passthrough.ts',
    ],
  ],
  'its depth was looked at before, or is by what validates it': [
    'src/core/foundation/json/exact-numbers.ts',
    'src/core/client/client.ts',
    'src/judge/diagnosis/facts/beacon-file.ts',
  ],
  'one string': ['src/core/contract/recordings/json-strings.ts'],
  'the reader itself': ['src/core/foundation/json.ts'],
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
  const own = path === 'src/core/foundation/json.ts' ? [1] : []
  return [...calls, ...named, ...own].map(
    (line) => `${path}:${line} reads JSON of any depth: use parseJson, or list it`,
  )
}
