/** The shim: whether it can be compiled here, and the environment of a process that runs under it. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, renameSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Returns why processes cannot run under the shim here; null when they can. */
export function findShimObstacle(): string | null {
  if (process.platform !== 'linux') return 'they replace functions of the C library of Linux'
  if (!isGlibc()) return 'they replace functions of glibc, and this Linux has another C library'
  return spawnSync('cc', ['--version']).status === 0
    ? null
    : 'there is no C compiler, cc: .ci/install-compiler installs one'
}

function isGlibc(): boolean {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
  return header.glibcVersionRuntime !== undefined
}

export interface ShimOptions {
  /** The folder whose files are recorded and fail, without links in its path. */
  folder: string
  /** The file that gets the records. */
  trace?: string
  /** The file by which calls fail: see control.ts. */
  control?: string
}

/** Returns the variables that put a process under the shim, which is compiled first. */
export function shimEnvironment({ folder, trace, control }: ShimOptions): Record<string, string> {
  return {
    LD_PRELOAD: compiledShim(),
    DISK_FOLDER: folder,
    ...(trace === undefined ? {} : { DISK_TRACE: trace }),
    ...(control === undefined ? {} : { DISK_CONTROL: control }),
  }
}

/** Compiled once in the temporary folder of a run, under a name that only a complete file gets. */
function compiledShim(): string {
  const library = join(tmpdir(), 'disk-shim.so')
  if (existsSync(library)) return library
  const partial = `${library}.${process.pid}`
  const source = join(import.meta.dirname, 'shim.c')
  execFileSync('cc', ['-O1', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', '-o', partial, source, '-ldl'])
  renameSync(partial, library)
  return library
}

/** A folder in memory, where there is one: what a power loss takes is decided by the replay, not by the computer. */
export const memoryFolder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
