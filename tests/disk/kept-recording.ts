/** A recording as a file, so that what has failed can be replayed: no other run has its interleaving. */
import { readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import { gunzipSync, gzipSync } from 'node:zlib'
import { keptRecording, seed } from './budget.ts'
import { type Recording, type RecordingOptions, recordHistory } from './recording.ts'
import type { Finding } from './replay.ts'

/** Makes a recording, or reads the one that is to be replayed. */
export async function takeRecording(options: RecordingOptions): Promise<Recording> {
  if (keptRecording === null) return recordHistory(options)
  const { records, acknowledged } = deserialize(gunzipSync(readFileSync(keptRecording))) as Recording
  return { records: records.map((record) => ({ ...record, bytes: Buffer.from(record.bytes) })), acknowledged }
}

/** Returns findings as text, with the way to repeat them; the recording is written to a file. */
export function describeFindings(recording: Recording, findings: readonly Finding[]): string[] {
  if (findings.length === 0) return []
  // Not in the folder of the run, which is removed.
  const file = join(dirname(tmpdir()), `svc-disk-recording-${seed}`)
  writeFileSync(file, gzipSync(serialize(recording)))
  return [
    `repeat it: DISK_RECORDING=${file} DISK_SEED=${seed} npm run test:disk`,
    ...findings.map(({ image, problem }) => `${JSON.stringify(image)}: ${problem}`),
  ]
}
