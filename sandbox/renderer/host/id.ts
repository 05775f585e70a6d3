/** 128 random bits as digits. getRandomValues, unlike randomUUID, also works on pages without https. */
export function newId(prefix: string): string {
  return prefix + crypto.getRandomValues(new Uint32Array(4)).join('')
}
