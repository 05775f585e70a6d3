/** `node send-file.ts FILE URL`: sends a file as the command line does, and prints status and body of the response. */
import { openAsBlob } from 'node:fs'
import { httpFetch } from '../../src/cli/run/session.ts'
import type { FileBody } from '../../src/client/exchange.ts'

const [file, url] = process.argv.slice(2)
const body = (await openAsBlob(file!)) as FileBody
const response = await httpFetch({})(url!, { method: 'POST', headers: {}, body, signal: AbortSignal.timeout(60_000) })
console.log(response.status, await response.text())
