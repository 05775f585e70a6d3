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

/** The shelf that all others may build on. */
const core = ['src/core/foundation', 'src/core/contract', 'src/core/client', 'src/core/text']

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
  {
    path: 'src/main.ts',
    modules: ['src/core/foundation', 'src/core/text', 'src/program.ts', 'src/cli'],
    builtins: 'all',
  },
  {
    path: 'src/program.ts',
    modules: [...core, 'src/cli', 'src/cli/commands'],
    packages: ['commander'],
    builtins: 'all',
  },
  // core: what all shelves may use.
  {
    path: 'src/core/foundation/file-system.ts',
    modules: ['src/core/foundation'],
    builtins: ['node:fs', 'node:path'],
  },
  {
    path: 'src/core/foundation/permissions.ts',
    modules: ['src/core/foundation/programs.ts'],
    builtins: ['node:os', 'node:path'],
  },
  { path: 'src/core/foundation/readings/compressed.ts', builtins: ['node:buffer', 'node:zlib'] },
  { path: 'src/core/foundation/readings/readings.ts', modules: ['src/core/foundation'], builtins: ['node:buffer'] },
  { path: 'src/core/foundation/signatures.ts', builtins: ['node:crypto'] },
  {
    path: 'src/core/foundation/text-file.ts',
    modules: ['src/core/foundation'],
    builtins: ['node:fs', 'node:fs/promises'],
  },
  {
    path: 'src/core/foundation/programs.ts',
    packages: ['cross-spawn'],
    builtins: ['node:child_process', 'node:events'],
  },
  {
    path: 'src/core/foundation/consent/strings.ts',
    modules: ['src/core/foundation'],
    packages: ['@iabgpp/cmpapi', '@iabtcf/core'],
    builtins: 'none',
  },
  { path: 'src/core/foundation', packages: ['jsonc-parser', 'string-width'], builtins: 'none' },
  { path: 'src/core/contract', modules: ['src/core/foundation'], packages: ['zod'], builtins: 'none' },
  {
    path: 'src/core/contract/recordings/secret-memory.ts',
    modules: ['src/core/foundation', 'src/core/contract'],
    builtins: ['node:crypto'],
  },
  {
    path: 'src/core/yaml',
    modules: ['src/core/foundation', 'src/core/contract'],
    packages: ['yaml', 'zod'],
    builtins: 'none',
  },
  { path: 'src/judge/collections', modules: ['src/core/foundation', 'src/core/contract'], builtins: 'none' },
  {
    path: 'src/judge/reconciliation',
    modules: ['src/core/foundation', 'src/core/contract'],
    packages: ['papaparse'],
    builtins: 'none',
  },
  {
    path: 'src/judge/reconciliation/service-comparison.ts',
    modules: ['src/judge/reconciliation', ...core],
    builtins: 'none',
  },
  {
    path: 'src/core/text',
    modules: ['src/core/foundation', 'src/core/contract', 'src/core/client'],
    packages: ['chalk', 'string-width'],
    builtins: ['node:util'],
  },
  {
    path: 'src/core/contract/bundles',
    modules: ['src/core/foundation', 'src/core/contract'],
    packages: ['zod', 'canonicalize'],
    builtins: 'none',
  },
  {
    path: 'src/core/client',
    modules: ['src/core/foundation', 'src/core/contract'],
    packages: ['zod'],
    // The type of a Blob.
    builtins: ['node:buffer'],
  },
  {
    path: 'src/core/client/node-fetch.ts',
    modules: ['src/core/foundation', 'src/core/client'],
    // Types only: it looks the modules up when they are needed.
    builtins: ['node:buffer', 'node:http'],
  },
  {
    path: 'src/core/client/node-socket.ts',
    modules: ['src/core/client'],
    // Types only, as above.
    builtins: ['node:http', 'node:stream'],
  },
  {
    path: 'src/cli',
    modules: [...core, 'src/judge'],
    packages: ['jq-wasm/dist/build/jq.js', 'commander', 'chalk', 'string-width', 'zod', 'selfsigned'],
    builtins: 'all',
  },
  { path: 'src/cli/tail', modules: [...core, 'src/cli'], packages: ['ink', 'react', 'zod'], builtins: 'all' },
  {
    path: 'src/judge/qa',
    modules: [...core, 'src/core/yaml'],
    // ws: the relay to Firefox.
    packages: ['yaml', 'zod', 'playwright-core', 'pixelmatch', 'pngjs', 'diff', 'ws'],
    builtins: 'all',
  },
  {
    path: 'src/judge/diagnosis',
    modules: [...core, 'src/judge/qa', 'src/core/yaml'],
    packages: ['zod', 'playwright-core', 'jsonc-parser', 'commander'],
    builtins: 'all',
  },
  {
    path: 'src/judge/gameday',
    modules: [...core, 'src/judge/diagnosis', 'src/judge/qa', 'src/core/yaml'],
    packages: ['playwright-core', 'zod'],
    builtins: ['node:crypto', 'node:timers/promises'],
  },
  {
    path: 'src/judge/hosts',
    modules: [...core, 'src/judge/diagnosis', 'src/judge/qa'],
    packages: ['@ghostery/adblocker', 'playwright-core'],
    builtins: 'all',
  },
  { path: 'src/judge/recordings', modules: [...core], packages: ['zod'], builtins: 'all' },
  {
    path: 'src/judge/testing',
    modules: [...core, 'sandbox/index.ts'],
    packages: ['vitest', '@playwright/test', 'testcontainers'],
    builtins: 'all',
  },
  {
    // Served by the sandbox too, which loads no command line for it: of that, the old names of commands, which are a table.
    path: 'src/cli/mcp',
    modules: [
      ...core,
      'src/cli/run/renamed-commands.ts',
      'src/cli/scaffold',
      'src/judge/diagnosis',
      'src/judge/qa',
      'src/judge/reconciliation',
    ],
    types: ['src/cli/run/system.ts'],
    packages: ['@modelcontextprotocol/server', 'zod'],
    builtins: 'all',
  },
  {
    path: 'src/cli/agent-files',
    modules: ['src/core/foundation', 'src/core/text', 'src/cli'],
    packages: ['jsonc-parser', 'zod'],
    builtins: ['node:crypto', 'node:fs', 'node:path', 'node:util'],
  },
  {
    path: 'src/cli/scaffold',
    modules: ['src/core/foundation'],
    packages: ['validate-npm-package-name'],
    builtins: 'all',
  },
  {
    path: 'src/cli/commands',
    modules: [
      ...core,
      'src/cli/agent-files',
      'src/cli',
      'src/cli/tail',
      'src/judge/collections',
      'src/judge/hosts',
      'src/judge/diagnosis',
      'src/judge/gameday',
      'src/cli/mcp',
      'src/judge/qa',
      'src/judge/reconciliation',
      'src/judge/recordings',
      'src/cli/scaffold',
      'src/core/yaml',
    ],
    // The question of svc init is drawn with ink.
    packages: ['commander', 'zod', 'ink', 'react'],
    builtins: 'all',
  },
  {
    path: 'src/cli/commands/sandbox/emulator.ts',
    modules: ['src/cli/commands', ...core, 'src/cli', 'sandbox/index.ts'],
    builtins: 'all',
  },
  {
    path: 'src/cli/commands/sandbox/start.ts',
    modules: ['src/cli/commands', ...core, 'src/cli'],
    types: ['sandbox/index.ts'],
    packages: ['commander'],
    builtins: 'all',
  },
  {
    path: 'src/cli/commands/sandbox/start-block.ts',
    modules: ['src/cli/commands', ...core, 'src/cli'],
    types: ['sandbox/index.ts'],
    builtins: 'none',
  },
  {
    path: 'src/cli/commands/team/migrate.ts',
    modules: ['src/cli/commands', ...core, 'src/cli', 'sandbox/index.ts'],
    packages: ['commander'],
    builtins: 'none',
  },
  {
    path: 'src/cli/commands/demand.ts',
    modules: ['src/cli/commands', ...core, 'src/cli', 'sandbox/index.ts'],
    packages: ['commander'],
    builtins: ['node:path'],
  },
  {
    path: 'src/cli/commands/team/tokens.ts',
    modules: ['src/cli/commands', ...core, 'src/cli', 'sandbox/index.ts'],
    packages: ['commander'],
    builtins: 'none',
  },
  {
    path: 'sandbox/rules/domain',
    modules: ['src/core/foundation', 'src/core/contract'],
    packages: ['zod', 'canonicalize'],
    builtins: 'none',
  },
  { path: 'sandbox/rules/platform', modules: ['src/core/foundation'], builtins: ['node:crypto'] },
  { path: 'sandbox/rules/platform/descriptors.ts', modules: ['src/core/foundation'], builtins: ['node:fs', 'node:os'] },
  { path: 'sandbox/rules/platform/process-figures.ts', builtins: ['node:fs', 'node:perf_hooks'] },
  {
    path: 'sandbox/store',
    modules: ['src/core/foundation', 'src/core/contract', 'sandbox/sandbox-error.ts'],
    types: ['sandbox/rules/domain'],
    packages: ['better-sqlite3', 'pg'],
    builtins: 'all',
  },
  // The writes are pure, and the adapters are siblings: neither knows the other.
  {
    path: 'sandbox/store/writes',
    modules: ['src/core/foundation', 'src/core/contract', 'sandbox/store/rows.ts'],
    types: ['sandbox/rules/domain', 'sandbox/store/store.ts'],
    builtins: 'none',
  },
  {
    path: 'sandbox/store/sqlite',
    modules: ['src/core/foundation', 'src/core/contract', 'sandbox/sandbox-error.ts', ...sharedByAdapters],
    types: ['sandbox/rules/domain'],
    packages: ['better-sqlite3'],
    builtins: 'all',
  },
  {
    path: 'sandbox/store/postgres',
    modules: ['src/core/foundation', 'src/core/contract', 'sandbox/sandbox-error.ts', ...sharedByAdapters],
    types: ['sandbox/rules/domain'],
    packages: ['better-sqlite3', 'pg'],
    builtins: 'all',
  },
  {
    path: 'sandbox/rules/runtime',
    modules: ['src/core/foundation', 'src/core/contract', 'sandbox/rules/domain'],
    types: ['sandbox/store', 'sandbox/rules/platform'],
    builtins: 'none',
  },
  {
    path: 'sandbox/server/tracing',
    modules: ['src/core/foundation'],
    types: ['sandbox/rules/runtime'],
    packages: [
      '@opentelemetry/api',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-trace',
    ],
    builtins: 'none',
  },
  {
    path: 'sandbox/rules/runtime/callbacks/network.ts',
    modules: ['src/core/foundation', 'src/core/contract', 'sandbox/rules/runtime'],
    builtins: ['node:dns', 'node:http', 'node:https', 'node:net'],
  },
  {
    path: 'sandbox/rules/runtime/bidders/network.ts',
    modules: ['sandbox/rules/runtime'],
    builtins: ['node:http', 'node:net'],
  },
  {
    path: 'sandbox/rules/operations',
    modules: [
      'src/core/foundation',
      'src/core/contract',
      'sandbox/rules/domain',
      'sandbox/rules/runtime',
      'sandbox/store/store.ts',
    ],
    types: ['sandbox/store', 'sandbox/rules/platform'],
    builtins: 'none',
  },
  {
    path: 'sandbox/server/frame-html',
    modules: ['src/core/foundation', 'src/core/contract', 'sandbox/rules/domain'],
    types: ['sandbox/rules/operations', 'sandbox/store'],
    builtins: 'all',
  },
  {
    path: 'sandbox/server/compat',
    modules: [
      'src/core/foundation',
      'src/core/contract',
      'sandbox/rules/domain',
      'sandbox/rules/operations',
      'sandbox/rules/runtime',
      'sandbox/store/store.ts',
    ],
    types: ['sandbox/store', 'sandbox/rules/platform'],
    builtins: 'none',
  },
  {
    path: 'sandbox/server/pipeline',
    modules: [
      'src/core/foundation',
      'src/core/contract',
      'sandbox/server/compat',
      'sandbox/rules/domain',
      'sandbox/rules/operations',
      'sandbox/rules/runtime',
      'sandbox/rules/platform',
      'sandbox/server/frame-html',
      'sandbox/store/store.ts',
    ],
    types: ['sandbox/store'],
    packages: ['zod', 'ws'],
    builtins: 'all',
  },
  // The frames of a sheet measure themselves, by the functions of the command.
  {
    path: 'sandbox/server/pipeline/pages/sheet.ts',
    modules: [
      'src/core/foundation',
      'src/core/contract',
      'src/judge/qa/sheet/measure.ts',
      'src/judge/qa/sheet/stage.ts',
      'sandbox/rules/operations',
      'sandbox/server/pipeline',
    ],
    builtins: 'none',
  },
  {
    // The same tools as those of the command line, loaded by the first request for them.
    path: 'sandbox/server/pipeline/pages/mcp.ts',
    modules: ['src/core/foundation', 'src/core/contract', 'src/cli/mcp/http.ts', 'sandbox/server/pipeline'],
    builtins: 'all',
  },
  {
    path: 'sandbox/pages/renderer',
    modules: ['src/core/foundation', 'src/core/contract/viewability.ts', 'src/core/contract/facts'],
    types: ['src/core/contract'],
    builtins: 'none',
  },
  // Imports the other parts of render.js from where the first came from.
  {
    path: 'sandbox/pages/renderer/host/loader.ts',
    modules: ['sandbox/pages/renderer'],
    types: ['sandbox/pages/console/console.ts'],
    packages: ['(computed)'],
    builtins: 'none',
  },
  {
    path: 'sandbox/pages/browser',
    modules: ['src/core/foundation'],
    types: ['src/core/contract'],
    builtins: 'none',
  },
  {
    path: 'sandbox/pages/demo',
    modules: ['src/core/foundation', 'fixtures/demo', 'sandbox/pages/browser'],
    types: ['src/core/contract', 'sandbox/pages/renderer'],
    builtins: 'none',
  },
  {
    // Of the contract what needs no schema. It has the colours, type and icons of the demo and the inspector.
    path: 'sandbox/pages/console',
    modules: [
      'src/core/foundation',
      'src/core/contract/error-codes.ts',
      'src/core/contract/facts/formats.ts',
      'src/core/contract/no-fill.ts',
      'src/core/contract/resources/sandbox/console-slots.ts',
      'src/core/contract/words',
      'fixtures/demo',
      'sandbox/pages/demo/styles/base.css?inline',
    ],
    types: ['src/core/contract', 'sandbox/pages/renderer'],
    builtins: 'none',
  },
  {
    path: 'sandbox/pages/inspector',
    // One product with the demo: its tokens and icons are those of the inspector. Of the contract what needs no schema.
    modules: [
      'src/core/foundation',
      'src/core/contract/ids.ts',
      'src/core/contract/error-codes.ts',
      'src/core/contract/facts/formats.ts',
      'src/core/contract/recordings/har.ts',
      'src/core/contract/no-fill.ts',
      'src/core/contract/own-requests.ts',
      'src/core/contract/separated.ts',
      'src/core/contract/words/billing.ts',
      'src/core/contract/facts/label-style.ts',
      'src/judge/qa/sheet/checks.ts',
      'src/judge/qa/sheet/measure.ts',
      'src/judge/qa/sheet/stage.ts',
      'src/judge/reconciliation',
      'fixtures/demo',
      'sandbox/pages/browser',
      'sandbox/pages/demo',
    ],
    types: ['src/core/contract', 'sandbox/pages/renderer'],
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
  { path: 'sandbox/sandbox-error.ts', modules: ['src/core/foundation'], builtins: 'none' },
  {
    path: 'sandbox/certificate.ts',
    modules: ['sandbox/sandbox-error.ts'],
    // The last one is loaded for a start with TLS alone.
    builtins: ['node:crypto', 'node:fs', 'node:tls'],
  },
  {
    path: 'sandbox/services.ts',
    modules: ['src/core/foundation', 'src/core/contract', 'sandbox'],
    builtins: 'none',
  },
  { path: 'sandbox/admin-token.ts', modules: ['sandbox/rules/platform', 'sandbox/store'], builtins: ['node:crypto'] },
  {
    path: 'sandbox/address.ts',
    modules: ['src/core/foundation', 'sandbox/certificate.ts', 'sandbox/sandbox-error.ts'],
    builtins: ['node:crypto', 'node:net'],
  },
  {
    path: 'sandbox/fixtures.ts',
    modules: ['src/core/contract', 'sandbox/rules/domain', 'sandbox/sandbox-error.ts'],
    builtins: ['node:fs', 'node:path', 'node:url'],
  },
  {
    path: 'sandbox/verification-thread.ts',
    modules: ['sandbox/store/sqlite'],
    types: ['sandbox/rules/operations'],
    builtins: ['node:path', 'node:worker_threads'],
  },
  {
    path: 'sandbox/verification-worker.ts',
    modules: ['sandbox/rules/operations/evidence', 'sandbox/rules/platform', 'sandbox/store/sqlite'],
    builtins: ['node:worker_threads'],
  },
  { path: 'sandbox/demand-changes.ts', modules: ['sandbox'], builtins: ['node:fs'] },
  {
    path: 'sandbox/sent-demand.ts',
    modules: ['src/core/yaml', 'sandbox/rules/demand'],
    types: ['src/core/contract'],
    builtins: 'none',
  },
  {
    path: 'sandbox/rules/runtime/playback/recording-file.ts',
    modules: ['src/core/foundation', 'src/core/contract', 'sandbox'],
    builtins: ['node:fs'],
  },
  {
    // Your own demand: the one room that reads pictures, clips and YAML, loaded by a start that has such a file.
    path: 'sandbox/rules/demand',
    modules: [
      'src/core/foundation',
      'src/core/contract',
      'src/core/yaml',
      'sandbox/rules/domain',
      'sandbox/sandbox-error.ts',
    ],
    packages: ['zod', 'sax', 'image-size', 'mediabunny'],
    builtins: ['node:crypto', 'node:fs', 'node:fs/promises', 'node:path'],
  },
  { path: 'sandbox/options.ts', modules: ['src/core/foundation', 'src/core/contract', 'sandbox'], builtins: 'none' },
  {
    path: 'sandbox/index.ts',
    modules: ['src/core/foundation', 'src/core/contract', 'sandbox'],
    packages: ['better-sqlite3'],
    builtins: 'all',
  },
]

/** Files that may read the clock, roll dice and see the environment. */
export const impureFiles = ['sandbox/rules/platform', 'src/main.ts', 'src/judge/testing/playwright.ts']

/** Code that runs in browsers: it has a clock of its own, but no process. */
export const browserFiles = [
  'sandbox/pages/renderer',
  'sandbox/pages/console',
  'sandbox/pages/browser',
  'sandbox/pages/demo',
  'sandbox/pages/inspector',
  'src/core/client',
]
