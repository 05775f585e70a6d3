/**
 * Runs command lines in the terminal that this process has: those of LINES_TO_RUN, a JSON list, against the sandbox of
 * SVC_HOME. Prints the width of the terminal first, and a record separator before each. The clock is that of the test's
 * sandbox, so that the times of a table are the same in every run.
 */
import { writeSync } from 'node:fs'
import { run } from '#src/program.ts'
import { keptStream, testHost } from './test-host.ts'

/** Writes to the terminal at once: of stdout and stderr what comes first is shown first. */
const stream = { ...keptStream(process.stdout.isTTY), columns: process.stdout.columns, write }

function write(text: string): void {
  for (let rest = Buffer.from(text); rest.length > 0; ) rest = rest.subarray(writeSync(1, rest))
}

write(`${process.stdout.columns} columns\n`)
const env = { SVC_HOME: process.env.SVC_HOME, SVC_PAGER: '' }
const host = { ...testHost({ env, cwd: env.SVC_HOME ?? '/', stdin: '', stdout: stream, stderr: stream }) }
for (const line of JSON.parse(process.env.LINES_TO_RUN ?? '[]') as string[]) {
  write('\u001e')
  // The sandbox is in the process of the test.
  await run(line.split(' '), { ...host, isRunning: () => true })
}
