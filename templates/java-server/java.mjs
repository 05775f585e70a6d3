/**
 * Compiles `src` and `tests` into `build`, and runs a class: `node java.mjs app.Main`. It takes the JDK of JAVA_HOME, or else of
 * the PATH, and says what to install where there is none.
 */
import { spawn, spawnSync } from 'node:child_process'
import { readdirSync, rmSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'

const folder = process.env.JAVA_HOME ? join(process.env.JAVA_HOME, 'bin') : ''
const [javac, java] = [join(folder, 'javac'), join(folder, 'java')]

const { stdout } = spawnSync(javac, ['-version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
if (!(Number(/javac (\d+)/.exec(stdout ?? '')?.[1]) >= 17)) {
  console.error(
    `There is no JDK 17 or later ${folder === '' ? 'on the PATH' : `in JAVA_HOME, ${process.env.JAVA_HOME}`}.`,
  )
  console.error('Install one: apt install default-jdk-headless, brew install openjdk, or https://adoptium.net')
  process.exit(1)
}

const sources = ['src', 'tests'].flatMap((name) =>
  readdirSync(name, { recursive: true })
    .filter((file) => file.endsWith('.java'))
    .map((file) => join(name, file)),
)
rmSync('build', { recursive: true, force: true })
const options = ['--release', '17', '-Xlint:all', '-Werror', '-encoding', 'UTF-8', '-d', 'build']
const compiled = spawnSync(javac, [...options, ...sources], { stdio: 'inherit' })
if (compiled.status !== 0) process.exit(1)

// A terminal and svc send their signals to Java too. Otherwise one is passed on, and Java ends when it is ready.
// Before Java starts: a signal between would end this program alone.
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => setTimeout(() => program.kill(signal), 500).unref())
}
const program = spawn(java, ['-cp', 'build', ...process.argv.slice(2)], { stdio: 'inherit' })
program.on('exit', (code, signal) => {
  process.exitCode = code ?? 128 + constants.signals[signal]
})
