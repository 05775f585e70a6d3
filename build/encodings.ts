/** Compresses the text files that the sandbox serves to pages: as .br and .gz beside each, in dist/. */
import { globSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const served = [
  'renderer/render.js',
  'demo/*.{js,css}',
  'inspector/*.{js,css}',
  'docs/docs.{js,css}',
  'docs/index.json',
]

/** The highest quality takes seconds for a large file and saves a twelfth. */
const smallFile_bytes = 32_768

export async function compressServed(dist: string): Promise<void> {
  await Promise.all(
    globSync(served, { cwd: dist }).map(async (file) => {
      const path = join(dist, file)
      const bytes = await readFile(path)
      const quality = bytes.length <= smallFile_bytes ? constants.BROTLI_MAX_QUALITY : 9
      const params = { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
      const [br, gz] = await Promise.all([
        promisify(brotliCompress)(bytes, { params }),
        promisify(gzip)(bytes, { level: constants.Z_BEST_COMPRESSION }),
      ])
      await Promise.all([writeFile(`${path}.br`, br), writeFile(`${path}.gz`, gz)])
    }),
  )
}
