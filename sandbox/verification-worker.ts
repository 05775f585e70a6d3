/** Verifies a part of one chain (see verification-thread.ts), on its own thread and connection. */
import { parentPort, workerData } from 'node:worker_threads'
import { type ChainWork, verifyRows } from '#operations/evidence/verify-rows.ts'
import { digest, sha256Hex } from '#platform/platform.ts'
import { openChainReader } from '#store/sqlite/file/chain-reader.ts'

/** Nothing waits for a turn here. More would not be faster. */
const entriesAtOnce = 256

void run(workerData as ChainWork)

/** Not at the top level: the single binary loads its files without modules. A failure ends the thread with its error. */
async function run({ path, project, start }: ChainWork): Promise<void> {
  growYoungGeneration()
  const store = openChainReader(path, sha256Hex)
  try {
    parentPort!.postMessage(await verifyRows({ store, platform: { sha256Hex, digest } }, project, start, entriesAtOnce))
  } finally {
    await store.close()
  }
}

/**
 * Lets V8 enlarge the young generation of this thread, by objects that survive. It begins with 1 MB and stays there, since
 * little survives of what is read: then V8 collects garbage every 250 entries.
 */
function growYoungGeneration(): void {
  Array.from({ length: 300_000 }, (_, value) => ({ value }))
}
