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

export const importTable: readonly ImportRule[] = [
  { path: 'src/main.ts', modules: ['src/program.ts', 'src/cli'], builtins: 'all' },
  {
    path: 'src/program.ts',
    modules: ['src/contract', 'src/client', 'src/cli', 'src/commands'],
    packages: ['commander'],
    builtins: 'all',
  },
  { path: 'src/contract', packages: ['zod'], builtins: 'none' },
  { path: 'src/client', modules: ['src/contract'], packages: ['undici', 'zod'], builtins: 'all' },
  { path: 'src/traffic', modules: ['src/contract', 'src/client'], builtins: 'none' },
  {
    path: 'src/cli',
    modules: ['src/contract', 'src/client', 'src/traffic'],
    packages: ['commander', 'chalk', 'ink', 'react', 'zod'],
    builtins: 'all',
  },
  {
    path: 'src/qa',
    modules: ['src/contract', 'src/client', 'src/traffic'],
    packages: ['yaml', 'zod', 'playwright-core', 'pixelmatch', 'pngjs'],
    builtins: 'all',
  },
  { path: 'src/scaffold', builtins: 'all' },
  {
    path: 'src/commands',
    modules: ['src/contract', 'src/client', 'src/traffic', 'src/cli', 'src/qa', 'src/scaffold'],
    packages: ['commander'],
    builtins: 'all',
  },
  {
    path: 'src/commands/sandbox-start.ts',
    modules: ['src/commands', 'src/contract', 'src/client', 'src/cli', 'src/qa', 'src/scaffold', 'sandbox/index.ts'],
    packages: ['commander'],
    builtins: 'all',
  },
  { path: 'sandbox/domain', modules: ['src/contract'], packages: ['zod', 'canonicalize'], builtins: 'none' },
  { path: 'sandbox/platform', builtins: ['node:crypto'] },
  {
    path: 'sandbox/store',
    modules: ['src/contract'],
    types: ['sandbox/domain'],
    packages: ['better-sqlite3'],
    builtins: 'all',
  },
  {
    path: 'sandbox/operations',
    modules: ['src/contract', 'sandbox/domain'],
    types: ['sandbox/store', 'sandbox/platform'],
    builtins: 'none',
  },
  {
    path: 'sandbox/http',
    modules: ['src/contract', 'sandbox/domain', 'sandbox/operations', 'sandbox/platform', 'sandbox/store/store.ts'],
    types: ['sandbox/store'],
    packages: ['fastify', '@fastify/*', 'zod'],
    builtins: 'all',
  },
  {
    path: 'sandbox/compat',
    modules: ['src/contract', 'sandbox/domain', 'sandbox/operations', 'sandbox/platform', 'sandbox/store/store.ts'],
    types: ['sandbox/store'],
    packages: ['fastify', '@fastify/*', 'zod'],
    builtins: 'all',
  },
  { path: 'sandbox/renderer', types: ['src/contract'], builtins: 'none' },
  { path: 'sandbox/demo', types: ['src/contract', 'sandbox/renderer'], builtins: 'none' },
  {
    path: 'sandbox/inspector',
    modules: ['src/client'],
    types: ['src/contract'],
    packages: ['react', 'react-dom'],
    builtins: 'none',
  },
  { path: 'sandbox/sandbox-error.ts', builtins: 'none' },
  {
    path: 'sandbox/index.ts',
    modules: ['src/contract', 'sandbox'],
    packages: ['better-sqlite3', 'fastify'],
    builtins: 'all',
  },
]

/** Files that may read the clock, roll dice and see the environment. */
export const impureFiles = ['sandbox/platform', 'src/main.ts']

/** Browser code: it has a clock of its own, but no process. */
export const browserFiles = ['sandbox/renderer', 'sandbox/demo', 'sandbox/inspector']
