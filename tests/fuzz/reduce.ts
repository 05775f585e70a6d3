/** Makes an input shorter as long as it fails. */

/** Returns a short input for which `fails` still holds, by removing pieces that are halved; at most `limit` tries. */
export async function reduceInput(
  bytes: Buffer,
  fails: (bytes: Buffer) => Promise<boolean>,
  limit = 2_000,
): Promise<Buffer> {
  let shortest = bytes
  let tries = 0
  for (let size = Math.ceil(bytes.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < shortest.length && tries < limit; tries++) {
      const shorter = Buffer.concat([shortest.subarray(0, at), shortest.subarray(at + size)])
      if (await fails(shorter)) shortest = shorter
      else at += size
    }
  }
  return shortest
}
