/**
 * Compresses render.js and its parts, which pages with an ad load: as .br and .gz beside them, at the highest quality. The
 * other files that pages load would make the package larger by a tenth; the sandbox compresses them when they are first requested.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

export async function compressRenderer(dist: string): Promise<void> {
  for (const name of ['render.js', 'mounts.js', 'judge.js', 'activation.js']) {
    const path = join(dist, 'renderer', name)
    const bytes = await readFile(path)
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
    await writeFile(`${path}.br`, await promisify(brotliCompress)(bytes, { params }))
    await writeFile(`${path}.gz`, await promisify(gzip)(bytes, { level: constants.Z_BEST_COMPRESSION }))
  }
}
