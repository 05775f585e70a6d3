/** 128 random bits in hexadecimal. getRandomValues, unlike randomUUID, also works on pages without https. */
export function newId(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return prefix + [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
