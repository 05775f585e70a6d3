/**
 * The languages of templates beside JavaScript. The tests of a template run where its toolchain is, which
 * `.ci/install-toolchains` installs; those of the others are left out, and that is printed.
 */
import { spawnSync } from 'node:child_process'
import { listTemplates, type Template } from '#scaffold/templates.ts'

/** For each template that needs more than Node: the command that succeeds where all of it is there. */
const checks: Readonly<Record<string, readonly string[]>> = {
  'flask-server': ['python3', '-c', 'import flask'],
  'go-server': ['go', 'version'],
  'java-server': ['javac', '-version'],
  'php-server': ['php', '-v'],
  'python-server': ['python3', '-c', 'import sys; sys.exit(sys.version_info < (3, 11))'],
  'ruby-server': ['ruby', '-e', 'require "sinatra/base"; require "puma"; require "minitest"; require "rake"'],
}

/** Returns the templates whose tests this computer cannot run. Throws for one that has a toolchain and no check. */
export function untestableTemplates(): Template[] {
  return listTemplates().filter(({ name, toolchain }) => {
    if (toolchain === null) return false
    const [program, ...args] = checks[name] ?? []
    if (program === undefined) throw new Error(`There is no check of the toolchain of ${name}.`)
    return spawnSync(program, args, { stdio: 'ignore' }).status !== 0
  })
}

/** Returns the path of the first Python that has pytest, Debian's python3-pytest or that of another python3; or null. */
export function findPytest(): string | null {
  const script = 'import sys, pytest; print(sys.executable)'
  const runs = ['python3', '/usr/bin/python3'].map((name) => spawnSync(name, ['-c', script], { encoding: 'utf8' }))
  return runs.find(({ status }) => status === 0)?.stdout.trim() ?? null
}
