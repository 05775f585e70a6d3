/**
 * Who may import whom, as data. A file belongs to the entry with the longest matching path; what an entry does not name
 * is forbidden. `modules` are our own files, by folder or file; `types` are those from which only `import type` is
 * allowed. A folder may always import itself. Tests beside a file may import anything.
 */
export interface ImportRule {
  path: string
  modules?: readonly string[]
  types?: readonly string[]
  packages?: readonly string[]
  /** The `node:` modules: all of them, none, or those listed. */
  builtins: 'all' | 'none' | readonly string[]
}

/** What everything below the commands may build on. */
const base = ['src/foundation', 'src/contract', 'src/client']

/** What both adapters of the store build on. */
const sharedByAdapters = [
  'sandbox/store/billing-groups.ts',
  'sandbox/store/billing.ts',
  'sandbox/store/foreign-exchanges.ts',
  'sandbox/store/list-conditions.ts',
  'sandbox/store/nodes.ts',
  'sandbox/store/rows.ts',
  'sandbox/store/slot-rows.ts',
  'sandbox/store/state-files.ts',
  'sandbox/store/store.ts',
  'sandbox/store/writes',
]

export const importTable: readonly ImportRule[] = [
  { path: 'src/main.ts', modules: ['src/foundation', 'src/program.ts', 'src/cli'], builtins: 'all' },
  { path: 'src/program.ts', modules: [...base, 'src/cli', 'src/commands'], packages: ['commander'], builtins: 'all' },
  {
    path: 'src/foundation/file-system.ts',
    modules: ['src/foundation'],
    builtins: ['node:fs', 'node:path'],
  },
  {
    path: 'src/foundation/permissions.ts',
    modules: ['src/foundation/programs.ts'],
    builtins: ['node:os', 'node:path'],
  },
  { path: 'src/foundation/signatures.ts', builtins: ['node:crypto'] },
  { path: 'src/foundation/text-file.ts', modules: ['src/foundation'], builtins: ['node:fs', 'node:fs/promises'] },
  {
    path: 'src/foundation/programs.ts',
    packages: ['cross-spawn'],
    builtins: ['node:child_process', 'node:events'],
  },
  {
    path: 'src/foundation/consent/strings.ts',
    modules: ['src/foundation'],
    packages: ['@iabgpp/cmpapi', '@iabtcf/core'],
    builtins: 'none',
  },
  { path: 'src/foundation', packages: ['jsonc-parser', 'string-width'], builtins: 'none' },
  { path: 'src/contract', modules: ['src/foundation'], packages: ['zod'], builtins: 'none' },
  { path: 'src/yaml', modules: ['src/foundation', 'src/contract'], packages: ['yaml', 'zod'], builtins: 'none' },
  { path: 'src/collections', modules: ['src/foundation', 'src/contract'], builtins: 'none' },
  {
    path: 'src/reconciliation',
    modules: ['src/foundation', 'src/contract'],
    packages: ['papaparse'],
    builtins: 'none',
  },
  {
    path: 'src/reconciliation/service-comparison.ts',
    modules: ['src/reconciliation', ...base, 'src/cli'],
    builtins: 'none',
  },
  {
    path: 'src/contract/bundles',
    modules: ['src/foundation', 'src/contract'],
    packages: ['zod', 'canonicalize'],
    builtins: 'none',
  },
  {
    path: 'src/client',
    modules: ['src/foundation', 'src/contract'],
    packages: ['zod'],
    // The type of a Blob.
    builtins: ['node:buffer'],
  },
  {
    path: 'src/client/node-fetch.ts',
    modules: ['src/foundation', 'src/client'],
    // Types only: it looks the modules up when they are needed.
    builtins: ['node:buffer', 'node:http'],
  },
  {
    path: 'src/client/node-socket.ts',
    modules: ['src/client'],
    // Types only, as above.
    builtins: ['node:http', 'node:stream'],
  },
  {
    path: 'src/cli',
    modules: base,
    packages: ['jq-wasm/dist/build/jq.js', 'commander', 'chalk', 'string-width', 'zod', 'selfsigned'],
    builtins: 'all',
  },
  { path: 'src/tail', modules: [...base, 'src/cli'], packages: ['ink', 'react', 'zod'], builtins: 'all' },
  {
    path: 'src/qa',
    modules: [...base, 'src/yaml', 'src/cli/output'],
    types: ['src/cli/settings/settings.ts'],
    // ws: the relay to Firefox.
    packages: ['yaml', 'zod', 'playwright-core', 'pixelmatch', 'pngjs', 'diff', 'ws'],
    builtins: 'all',
  },
  {
    path: 'src/diagnosis',
    modules: [...base, 'src/agent-files', 'src/cli', 'src/qa', 'src/yaml'],
    packages: ['zod', 'playwright-core', 'jsonc-parser', 'commander'],
    builtins: 'all',
  },
  {
    path: 'src/gameday',
    modules: [...base, 'src/cli/output', 'src/diagnosis', 'src/qa', 'src/yaml'],
    packages: ['playwright-core', 'zod'],
    builtins: ['node:crypto', 'node:timers/promises'],
  },
  {
    path: 'src/hosts',
    modules: [...base, 'src/cli/output', 'src/diagnosis', 'src/qa'],
    packages: ['@ghostery/adblocker', 'playwright-core'],
    builtins: 'all',
  },
  { path: 'src/recordings', modules: [...base, 'src/cli/output'], packages: ['zod'], builtins: 'all' },
  {
    path: 'src/testing',
    modules: [...base, 'sandbox/index.ts'],
    packages: ['vitest', '@playwright/test', 'testcontainers'],
    builtins: 'all',
  },
  {
    path: 'src/mcp',
    modules: [...base, 'src/cli', 'src/diagnosis', 'src/qa', 'src/reconciliation', 'src/scaffold'],
    packages: ['@modelcontextprotocol/server', 'zod'],
    builtins: 'all',
  },
  {
    path: 'src/agent-files',
    modules: ['src/foundation', 'src/cli'],
    packages: ['jsonc-parser', 'zod'],
    builtins: ['node:crypto', 'node:fs', 'node:path', 'node:util'],
  },
  { path: 'src/scaffold', modules: ['src/foundation'], packages: ['validate-npm-package-name'], builtins: 'all' },
  {
    path: 'src/commands',
    modules: [
      ...base,
      'src/agent-files',
      'src/cli',
      'src/tail',
      'src/collections',
      'src/hosts',
      'src/diagnosis',
      'src/gameday',
      'src/mcp',
      'src/qa',
      'src/reconciliation',
      'src/recordings',
      'src/scaffold',
      'src/yaml',
    ],
    // The question of svc init is drawn with ink.
    packages: ['commander', 'zod', 'ink', 'react'],
    builtins: 'all',
  },
  {
    path: 'src/commands/sandbox/emulator.ts',
    modules: ['src/commands', ...base, 'src/cli', 'sandbox/index.ts'],
    builtins: 'all',
  },
  {
    path: 'src/commands/sandbox/start.ts',
    modules: ['src/commands', ...base, 'src/cli'],
    types: ['sandbox/index.ts'],
    packages: ['commander'],
    builtins: 'all',
  },
  {
    path: 'src/commands/sandbox/start-block.ts',
    modules: ['src/commands', ...base, 'src/cli'],
    types: ['sandbox/index.ts'],
    builtins: 'none',
  },
  {
    path: 'src/commands/team/migrate.ts',
    modules: ['src/commands', ...base, 'src/cli', 'sandbox/index.ts'],
    packages: ['commander'],
    builtins: 'none',
  },
  {
    path: 'src/commands/demand.ts',
    modules: ['src/commands', ...base, 'src/cli', 'sandbox/index.ts'],
    packages: ['commander'],
    builtins: ['node:path'],
  },
  {
    path: 'src/commands/team/tokens.ts',
    modules: ['src/commands', ...base, 'src/cli', 'sandbox/index.ts'],
    packages: ['commander'],
    builtins: 'none',
  },
  {
    path: 'sandbox/domain',
    modules: ['src/foundation', 'src/contract'],
    packages: ['zod', 'canonicalize'],
    builtins: 'none',
  },
  { path: 'sandbox/platform', modules: ['src/foundation'], builtins: ['node:crypto'] },
  { path: 'sandbox/platform/descriptors.ts', modules: ['src/foundation'], builtins: ['node:fs', 'node:os'] },
  { path: 'sandbox/platform/process-figures.ts', builtins: ['node:fs', 'node:perf_hooks'] },
  {
    path: 'sandbox/store',
    modules: ['src/foundation', 'src/contract', 'sandbox/sandbox-error.ts'],
    types: ['sandbox/domain'],
    packages: ['better-sqlite3', 'pg'],
    builtins: 'all',
  },
  // The writes are pure, and the adapters are siblings: neither knows the other.
  {
    path: 'sandbox/store/writes',
    modules: ['src/foundation', 'src/contract', 'sandbox/store/rows.ts'],
    types: ['sandbox/domain', 'sandbox/store/store.ts'],
    builtins: 'none',
  },
  {
    path: 'sandbox/store/sqlite',
    modules: ['src/foundation', 'src/contract', 'sandbox/sandbox-error.ts', ...sharedByAdapters],
    types: ['sandbox/domain'],
    packages: ['better-sqlite3'],
    builtins: 'all',
  },
  {
    path: 'sandbox/store/postgres',
    modules: ['src/foundation', 'src/contract', 'sandbox/sandbox-error.ts', ...sharedByAdapters],
    types: ['sandbox/domain'],
    packages: ['better-sqlite3', 'pg'],
    builtins: 'all',
  },
  {
    path: 'sandbox/runtime',
    modules: ['src/foundation', 'src/contract', 'sandbox/domain'],
    types: ['sandbox/store', 'sandbox/platform'],
    builtins: 'none',
  },
  {
    path: 'sandbox/tracing',
    modules: ['src/foundation'],
    types: ['sandbox/runtime'],
    packages: [
      '@opentelemetry/api',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-trace',
    ],
    builtins: 'none',
  },
  {
    path: 'sandbox/runtime/callbacks/network.ts',
    modules: ['src/foundation', 'src/contract', 'sandbox/runtime'],
    builtins: ['node:dns', 'node:http', 'node:https', 'node:net'],
  },
  {
    path: 'sandbox/runtime/bidders/network.ts',
    modules: ['sandbox/runtime'],
    builtins: ['node:http', 'node:net'],
  },
  {
    path: 'sandbox/operations',
    modules: ['src/foundation', 'src/contract', 'sandbox/domain', 'sandbox/runtime', 'sandbox/store/store.ts'],
    types: ['sandbox/store', 'sandbox/platform'],
    builtins: 'none',
  },
  {
    path: 'sandbox/frame-html',
    modules: ['src/foundation', 'src/contract', 'sandbox/domain'],
    types: ['sandbox/operations', 'sandbox/store'],
    builtins: 'all',
  },
  {
    path: 'sandbox/compat',
    modules: [
      'src/foundation',
      'src/contract',
      'sandbox/domain',
      'sandbox/operations',
      'sandbox/runtime',
      'sandbox/store/store.ts',
    ],
    types: ['sandbox/store', 'sandbox/platform'],
    builtins: 'none',
  },
  {
    path: 'sandbox/pipeline',
    modules: [
      'src/foundation',
      'src/contract',
      'sandbox/compat',
      'sandbox/domain',
      'sandbox/operations',
      'sandbox/runtime',
      'sandbox/platform',
      'sandbox/frame-html',
      'sandbox/store/store.ts',
    ],
    types: ['sandbox/store'],
    packages: ['zod', 'ws'],
    builtins: 'all',
  },
  {
    // The same tools as those of the command line, loaded by the first request for them.
    path: 'sandbox/pipeline/pages/mcp.ts',
    modules: ['src/foundation', 'src/contract', 'src/mcp/http.ts', 'sandbox/pipeline'],
    builtins: 'all',
  },
  {
    path: 'sandbox/renderer',
    modules: ['src/foundation', 'src/contract/viewability.ts', 'src/contract/facts'],
    types: ['src/contract'],
    builtins: 'none',
  },
  // Imports the other parts of render.js from where the first came from.
  {
    path: 'sandbox/renderer/host/loader.ts',
    modules: ['sandbox/renderer'],
    types: ['sandbox/console/console.ts'],
    packages: ['(computed)'],
    builtins: 'none',
  },
  {
    path: 'sandbox/browser',
    modules: ['src/foundation'],
    types: ['src/contract'],
    builtins: 'none',
  },
  {
    path: 'sandbox/demo',
    modules: ['src/foundation', 'fixtures/demo', 'sandbox/browser'],
    types: ['src/contract', 'sandbox/renderer'],
    builtins: 'none',
  },
  {
    // Of the contract what needs no schema. It has the colours, type and icons of the demo and the inspector.
    path: 'sandbox/console',
    modules: [
      'src/foundation',
      'src/contract/error-codes.ts',
      'src/contract/facts/formats.ts',
      'src/contract/no-fill.ts',
      'src/contract/resources/sandbox/console-slots.ts',
      'src/contract/words',
      'fixtures/demo',
      'sandbox/demo/styles/base.css?inline',
    ],
    types: ['src/contract', 'sandbox/renderer'],
    builtins: 'none',
  },
  {
    path: 'sandbox/inspector',
    // One product with the demo: its tokens and icons are those of the inspector. Of the contract what needs no schema.
    modules: [
      'src/foundation',
      'src/contract/ids.ts',
      'src/contract/error-codes.ts',
      'src/contract/facts/formats.ts',
      'src/contract/recordings/har.ts',
      'src/contract/no-fill.ts',
      'src/contract/own-requests.ts',
      'src/contract/separated.ts',
      'src/contract/words/billing.ts',
      'src/reconciliation',
      'fixtures/demo',
      'sandbox/browser',
      'sandbox/demo',
    ],
    types: ['src/contract', 'sandbox/renderer'],
    packages: [
      'react',
      'react-dom',
      'react-aria-components',
      '@tanstack/react-table',
      '@tanstack/react-virtual',
      'uplot',
      'wouter',
      'yaml',
    ],
    builtins: 'none',
  },
  { path: 'sandbox/sandbox-error.ts', modules: ['src/foundation'], builtins: 'none' },
  {
    path: 'sandbox/certificate.ts',
    modules: ['sandbox/sandbox-error.ts'],
    // The last one is loaded for a start with TLS alone.
    builtins: ['node:crypto', 'node:fs', 'node:tls'],
  },
  {
    path: 'sandbox/services.ts',
    modules: ['src/foundation', 'src/contract', 'sandbox'],
    builtins: 'none',
  },
  { path: 'sandbox/admin-token.ts', modules: ['sandbox/platform', 'sandbox/store'], builtins: ['node:crypto'] },
  {
    path: 'sandbox/address.ts',
    modules: ['src/foundation', 'sandbox/certificate.ts', 'sandbox/sandbox-error.ts'],
    builtins: ['node:crypto', 'node:net'],
  },
  {
    path: 'sandbox/fixtures.ts',
    modules: ['src/contract', 'sandbox/domain', 'sandbox/sandbox-error.ts'],
    builtins: ['node:fs', 'node:path', 'node:url'],
  },
  { path: 'sandbox/demand-changes.ts', modules: ['sandbox'], builtins: ['node:fs'] },
  {
    path: 'sandbox/recording-file.ts',
    modules: ['src/foundation', 'src/contract', 'sandbox'],
    builtins: ['node:fs'],
  },
  {
    // Your own demand: the one room that reads pictures, clips and YAML, loaded by a start that has such a file.
    path: 'sandbox/demand',
    modules: ['src/foundation', 'src/contract', 'src/yaml', 'sandbox/domain', 'sandbox/sandbox-error.ts'],
    packages: ['zod', 'sax', 'image-size', 'mediabunny'],
    builtins: ['node:crypto', 'node:fs', 'node:path'],
  },
  { path: 'sandbox/options.ts', modules: ['src/foundation', 'src/contract', 'sandbox'], builtins: 'none' },
  {
    path: 'sandbox/index.ts',
    modules: ['src/foundation', 'src/contract', 'sandbox'],
    packages: ['better-sqlite3'],
    builtins: 'all',
  },
]

/** Files that may read the clock, roll dice and see the environment. */
export const impureFiles = ['sandbox/platform', 'src/main.ts', 'src/testing/playwright.ts']

/** Code that runs in browsers: it has a clock of its own, but no process. */
export const browserFiles = [
  'sandbox/renderer',
  'sandbox/console',
  'sandbox/browser',
  'sandbox/demo',
  'sandbox/inspector',
  'src/client',
]
