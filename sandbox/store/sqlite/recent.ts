/** Keeps a row at hand; the oldest half goes when there are more than `most`. */
export function remember<Key, Value>(rows: Map<Key, Value>, most: number, key: Key, value: Value): void {
  if (rows.size >= most) {
    let surplus = most / 2
    for (const oldest of rows.keys()) {
      if (surplus-- <= 0) break
      rows.delete(oldest)
    }
  }
  rows.set(key, value)
}
