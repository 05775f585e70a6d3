/** `node send-file.ts FILE URL`: sends a file as the command line does, and prints status and body of the response. */
import { openAsBlob } from 'node:fs'
import { httpFetch } from '#cli/run/http-fetch.ts'
import { readToEnd } from '#client/exchange.ts'

const [file, url] = process.argv.slice(2)
const body = await openAsBlob(file!)
const init = { method: 'POST', headers: {}, body, redirect: 'manual', signal: AbortSignal.timeout(60_000) } as const
const { status, text } = await readToEnd(await httpFetch({})(url!, init))
console.log(status, text)
